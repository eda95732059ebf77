"""What the user's code called, where torch wraps its functions in ``no_grad``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.runtime.sites import called_from_user


class Bound(torch.Tensor):
    """Notes who asks for it."""

    asked: set[str] = set()

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.asked.add(called_from_user(sys._getframe().f_back))
        return super().__torch_function__(function, types, args, kwargs or {})


def test_a_function_with_a_wrapper_of_its_own() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    Bound.asked.clear()
    torch.nn.utils.clip_grad_norm_([parameter], max_norm=torch.ones(()).as_subclass(Bound))
    assert Bound.asked == {"clip_grad_norm_()"}


def test_a_function_that_is_decorated() -> None:
    """From torch 2.15 on the frame around it is called ``no_grad``."""
    asked = []

    def batches() -> Iterator[Any]:
        asked.append(called_from_user(sys._getframe().f_back))
        yield torch.ones(2, 2)

    torch.optim.swa_utils.update_bn(batches(), torch.nn.BatchNorm1d(2))
    assert asked == ["update_bn()"]
