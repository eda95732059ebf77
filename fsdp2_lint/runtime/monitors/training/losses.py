"""Means over targets, and what becomes of them before they reach backward."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from ....vocab.facts import Fact
from ....vocab.finding import Moment
from ... import adapter, facts
from ...patches import argument
from ...session import Session
from ...sites import here

_SCALES = ("MulBackward0", "DivBackward0", "ToCopyBackward0")  # what leaves a loss one number of one rank
_KEY = "fsdp2_lint"
MOST = 64  # backwards of one step


def install(session: Session) -> None:
    if not session.compares("targets"):
        return
    watch = _Watch(session)
    note = session.quietly(watch.averaged)
    original = F.cross_entropy

    @functools.wraps(original)
    def cross_entropy(*args: Any, **kwargs: Any) -> Any:
        loss = original(*args, **kwargs)
        if session.hot.live and not adapter.is_traced():
            note(loss, *args, **kwargs)
        return loss

    session.hot.replace(F, "cross_entropy", cross_entropy, keep=lambda: session.compiles)
    session.watch((torch.autograd, "backward"), before=watch.backward)


@dataclass(frozen=True, slots=True)
class _Mean:
    """A mean over some of the targets of a batch."""

    when: Moment
    counted: int
    targets: int
    value: torch.Tensor


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.backwards: dict[int, int] = {}  # step: how many

    def averaged(
        self,
        loss: torch.Tensor,
        input: torch.Tensor,
        target: torch.Tensor,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        """Note on the loss's own node of the graph how many targets it is the mean of: that keeps nothing alive."""
        whole = any(isinstance(each, adapter.DTensor) or adapter.is_fake(each) for each in (loss, target))
        other = size_average is not None or reduce is not None or reduction != "mean" or weight is not None
        if whole or other or loss.grad_fn is None or target.is_floating_point() or adapter.is_captured():
            return
        if self.session.ledger.models:
            counted = int((target != ignore_index).sum())
            _notes(loss.grad_fn)[_KEY] = _Mean(here(), counted, target.numel(), loss.detach())

    def backward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        root = argument(args, kwargs, 0, "tensors")
        if not isinstance(root, torch.Tensor) or root.numel() != 1 or adapter.is_captured():
            return
        mean = _mean_behind(root)
        if mean is None:
            return
        scale = float(root.detach()) / (float(mean.value) or math.nan)
        top = self.session.ledger.models[-1].module()
        if top is None or not math.isfinite(scale):
            return
        step = self.session.step + 1
        number = self.backwards[step] = self.backwards.get(step, 0) + 1
        values = {"targets": f"{mean.counted} of {mean.targets}"}
        traits = {"scale": f"{scale:.4g}"}
        key = f"step {step}, backward {number}"
        if number > MOST:
            return
        if ranks := facts.ranks_with_batches_of_their_own(self.session, top):
            self.session.state(Fact("targets", key, mean.when, ranks, values, traits=traits))


def _mean_behind(root: torch.Tensor) -> _Mean | None:
    """The mean that a loss is, up to a factor."""
    node = root.grad_fn
    while node is not None:
        found = _notes(node).get(_KEY)
        if isinstance(found, _Mean):
            return found
        inner = [each for each, _ in node.next_functions if each is not None]
        node = inner[0] if node.name() in _SCALES and len(inner) == 1 else None
    return None


def _notes(node: Any) -> dict[str, Any]:
    """What hangs on a node of the graph, and goes with it. torch types it as a method, and it is none."""
    notes: dict[str, Any] = node.metadata
    return notes
