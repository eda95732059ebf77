"""Means and sums over targets, and what becomes of them before they reach backward, and of the gradients after it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ....vocab.facts import Fact
from ....vocab.finding import Moment
from ... import adapter, facts
from ...agreement.digests import sample
from ...patches import argument
from ...session import Session
from ...sites import here

_SCALES = ("MulBackward0", "DivBackward0", "ToCopyBackward0")  # what leaves a loss one number of one rank
_KEY = "fsdp2_lint"
MOST = 64  # backwards of one step
LOOKED_INTO = 4  # gradients
# Of each parameter: which tensor its gradient is, how often that was written, and what is in it.
Gradients = dict[int, tuple[int, tuple[int, ...], str]]


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
    session.watch((torch.autograd, "backward"), before=watch.backward, after=watch.differentiated)
    session.watch_fsdp2("clipping", before=lambda args, kwargs: watch.sums.clear())
    session.hot.keep(register_optimizer_step_pre_hook(session.quietly(lambda *args: watch.settle())))


@dataclass(frozen=True, slots=True)
class _Mean:
    """A mean over some of the targets of a batch, or their sum."""

    when: Moment
    counted: int
    targets: int
    value: torch.Tensor
    summed: bool


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.backwards: dict[int, int] = {}  # step: how many
        self.sums: list[Fact] = []  # of backwards that no step has followed yet
        self.left: Gradients = {}  # as the last of those backwards left them

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
        other = size_average is not None or reduce is not None or reduction == "none" or weight is not None
        if whole or other or loss.grad_fn is None or target.is_floating_point() or adapter.is_captured():
            return
        if self.session.ledger.models:
            counted = int((target != ignore_index).sum())
            _notes(loss.grad_fn)[_KEY] = _Mean(here(), counted, target.numel(), loss.detach(), reduction == "sum")

    def backward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        root = argument(args, kwargs, 0, "tensors")
        root = root[0] if isinstance(root, (list, tuple)) and len(root) == 1 else root  # as pipelines hand it over
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
        traits = {"scale": f"{scale:.4g}", "what": "sum" if mean.summed else "mean"}
        key = f"step {step}, backward {number}, {traits['what']}"
        ranks = facts.ranks_with_batches_of_their_own(self.session, top)
        if number > MOST or not ranks:
            return
        fact = Fact("targets", key, mean.when, ranks, values, traits=traits)
        if not mean.summed:
            self.session.state(fact)
        elif scale == 1 and not _divides_by_a_number_of_its_own(self.session, top):
            self.sums.append(fact)

    def differentiated(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.left = self._gradients() if self.sums else {}

    def settle(self) -> None:
        """A step begins: sums whose gradients nobody has divided, clipped or exchanged since are used as they are."""
        sums, self.sums = self.sums, []
        if sums and self.left == self._gradients():
            for fact in sums:
                self.session.state(fact)

    def _gradients(self) -> Gradients:
        top = self.session.ledger.models[-1].module()
        found = ((id(each), each.grad) for each in (top.parameters() if top is not None else ()))
        gradients = {key: gradient for key, gradient in found if gradient is not None}
        # Operations on many tensors at once do not count as writes: of some the numbers are compared, too.
        some = {key: sample(gradients[key]) for key in list(gradients)[:LOOKED_INTO]}
        return {key: (id(each), adapter.version(each), some.get(key, "")) for key, each in gradients.items()}


def _divides_by_a_number_of_its_own(session: Session, top: nn.Module) -> bool:
    """Is any group told what to divide its gradients by? That may be the number of targets."""
    groups = (group for sharding in session.ledger.inside(top) for group in sharding.groups())
    return any(adapter.division(group).factor is not None for group in groups)


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
