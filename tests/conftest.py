"""What every test gets: an environment that does not depend on who runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steps", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("steps")

SCRUBBED = ("CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FSDP2_LINT_DEBUG")

HERE = Path(__file__).parent
LONG = ("preflight", "runtime", "whole", "locks", "servers")  # folders whose files take longest


def pytest_configure(config: pytest.Config) -> None:
    """Several processes take files as they are collected: else those with few tests, the longest, come last."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.relative_to(HERE).parts[0] not in LONG if HERE in item.path.parents else True)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SCRUBBED:
        monkeypatch.delenv(name, raising=False)
