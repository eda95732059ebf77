"""The plugin for pytest: one fixture. Torch is imported only where a test asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def fsdp2_run() -> Callable[..., Any]:
    """Run a function on several gloo ranks and check FSDP2's contract while it runs.

    ::

        def train(dim):          # a function of a module: it is called in other processes
            model = Net(dim)
            ...

        def test_training(fsdp2_run):
            fsdp2_run(train, 64, world_size=2).assert_clean()

    The arguments and the result are those of :func:`fsdp2_lint.runtime.checked.run_checked`.
    """
    from fsdp2_lint.runtime.checked import run_checked

    return run_checked
