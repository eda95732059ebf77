"""What an optimizer of the job's own makes of shards, followed through its first step.

``to_local()`` gives plain tensors, and what each element becomes by itself is right on each rank. A sum over all
elements, or a product of shards, is a number of this rank's alone until ranks communicate. Where such a number gets
into a parameter, the update depends on how many ranks there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim import Optimizer

from ... import adapter
from ...ledger import Built, Sharding
from ...patches import argument
from ...session import Session

PART, MIXED = "part", "mixed"
PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm", "addbmm", "dot", "vdot"})
OF_MATRICES = frozenset({"_linalg_svd", "linalg_qr", "_linalg_eigh", "linalg_inv_ex", "linalg_cholesky_ex"})
SUMS = frozenset(
    "sum mean prod norm linalg_vector_norm max min amax amin aminmax std var median all any _foreach_norm".split()
)


def watch(session: Session, cls: type[Optimizer], tell: Callable[[Built], None]) -> None:
    """Follow the first step of each optimizer of a class that is not torch's own, and ``tell`` of those that mix."""
    owner = next((each for each in cls.__mro__ if "step" in vars(each)), cls)
    if owner.__module__.startswith("torch.optim") or hasattr(vars(owner)["step"], "_fsdp2_lint"):
        return
    original = vars(owner)["step"]
    begin, end = session.quietly(_begin), session.quietly(_end)

    @functools.wraps(original)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        follow = begin(session, self, args, kwargs) if session.hot.live else None
        if follow is None:
            return original(self, *args, **kwargs)
        with adapter.Operations(session.quietly(follow.seen)):
            result = original(self, *args, **kwargs)
        end(session, self, follow, tell)
        return result

    step._fsdp2_lint = True  # type: ignore[attr-defined]
    session.hot.replace(owner, "step", step)


def _begin(session: Session, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Follow | None:
    """Not with a closure, which runs the model, nor with compiled functions, which would not be used meanwhile."""
    built = session.ledger.built(optimizer)
    with_closure = argument(args, kwargs, 0, "closure") is not None
    if built is None or built.steps or built.followed or with_closure or session.compiles or adapter.is_captured():
        return None
    built.followed = True
    parts = dict(_parts(session, built))
    return _Follow(parts) if parts else None


def _parts(session: Session, built: Built) -> Iterator[tuple[int, tuple[Sharding, adapter.Param]]]:
    """The parameters of which this rank holds a part, by where that lies."""
    managed = session.ledger.managed(session.ledger.shardings)
    for parameter in built.held():
        if (found := managed.get(id(parameter))) is not None and parameter is found[1].sharded:
            place = adapter.memory_of(parameter)
            if place is not None and 0 < adapter.local(parameter).numel() < found[1].numel:
                yield place, found


def _end(session: Session, optimizer: Optimizer, follow: _Follow, tell: Callable[[Built], None]) -> None:
    built = session.ledger.built(optimizer)
    if built is not None and follow.mixed is not None:
        built.mixes = follow.mixed
        tell(built)


class _Follow:
    """``mixed``: the parameter into which a number of this rank's alone got, and the operation it came from."""

    def __init__(self, parts: dict[int, tuple[Sharding, adapter.Param]]) -> None:
        self.parts = parts
        self.marks = adapter.Marks("")
        self.mixed: tuple[Sharding, str, str] | None = None
        self.sources = adapter.Marks("")  # the operation behind each number that is mixed
        for _, param in parts.values():
            if param.sharded.grad is not None:
                self.marks[param.sharded.grad] = PART

    def seen(self, operation: adapter.Operation) -> None:
        targets = [*operation.changed, *operation.made]
        if self.mixed is not None:
            return
        if not operation.known:  # ranks may have communicated
            for each in (*operation.given, *targets):
                self.marks[each] = ""
            return
        given = [each for each in operation.given if operation.name != "copy_" or each is not operation.given[0]]
        marks = [self._mark(each) for each in given]
        mark = MIXED if MIXED in marks or self._mixes(operation, given) else PART if PART in marks else ""
        source = next((self.sources[each] for each in given if self._mark(each) == MIXED), operation.name)
        for each in targets:
            self.marks[each], self.sources[each] = mark, source if mark == MIXED else ""
        if mark == MIXED:
            self._written(operation.changed, source)

    def _mark(self, tensor: torch.Tensor) -> str:
        return self.marks[tensor] or (PART if adapter.memory_of(tensor) in self.parts else "")

    def _mixes(self, operation: adapter.Operation, given: list[torch.Tensor]) -> bool:
        """Does it bring together elements of a part as if there were no others? DTensors know better."""
        if any(isinstance(each, adapter.DTensor) for each in given):
            return False
        parts = [each for each in given if self._mark(each) == PART]
        if operation.name in PRODUCTS:
            return all(self._mark(each) == PART for each in given[-2:])
        if operation.name in OF_MATRICES:
            return bool(parts)
        return operation.name in SUMS and any(each.numel() > 1 for each in parts) and operation.made[0].numel() == 1

    def _written(self, changed: list[torch.Tensor], source: str) -> None:
        for each in changed:
            if (found := self.parts.get(adapter.memory_of(each) or 0)) is not None:
                self.mixed = (found[0], found[1].fqn, source)
