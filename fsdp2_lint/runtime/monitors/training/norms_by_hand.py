"""Numbers that a script makes of its shards of gradients, and scales gradients with: followed in a rehearsal.

A norm by hand adds up what ``to_local()`` gives, and reduces the sum over the ranks that hold the other parts. Along a
dimension of the mesh that it forgets, ranks clip by numbers of their own. A job is not followed so: what looks at each
operation would have to stay among the script's own modes.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ....vocab.answers import Answer, yes
from ....vocab.behaviour import Behaviour
from ....vocab.events.training import ValueRead
from ....vocab.finding import Place, Site
from ... import adapter
from ...closure import looked
from ...ledger import Sharding
from ...session import Session
from ...sites import here
from .shard_math import SUMS

SCALES = frozenset({"mul_", "div_", "_foreach_mul_", "_foreach_div_"})


@dataclass(frozen=True, slots=True)
class Cut:
    """Along this dimension of a mesh, ``ranks`` hold different parts."""

    name: str
    ranks: tuple[int, ...]
    placement: str


Cuts = frozenset[Cut]


@dataclass(frozen=True, slots=True)
class Mark:
    """Of a tensor that is made of parts of gradients: the part itself, or where ``one``, a number for all of it."""

    cuts: Cuts = frozenset()
    one: bool = False


@dataclass(frozen=True, slots=True)
class RuntimeFactor:
    """What gradients are scaled with. ``left_out`` are the cuts of which it knows this rank's part alone."""

    made_of: Sharding
    left_out: tuple[Cut, ...]

    @property
    def name(self) -> str:
        return "scaling the gradients"

    def partial(self) -> Answer[tuple[str, Site | None]]:
        return yes((self.left_out[0].placement, None))

    def in_some_versions(self) -> Answer[Behaviour]:
        return looked("what was reduced over which ranks was followed")

    def sharding(self) -> Answer[Place]:
        cuts = " and ".join(f"the {len(each.ranks)} ranks of {each.name}" for each in self.left_out)
        return yes(Place(self.made_of.when, f"its gradients are cut over {cuts}, which the number is not reduced over"))


def install(session: Session) -> None:
    if not adapter.is_rehearsed():
        return
    watch = _Watch(session)
    session.watch_fsdp2("backward_end", after=watch.backward_ended)
    session.watch_fsdp2("first_forward", before=watch.entered)
    session.hot.keep(register_optimizer_step_pre_hook(session.quietly(lambda *args: watch.settle())))
    # It stays, below all modes of the script, to the end of the process.
    adapter.Operations(session.quietly(watch.seen), lambda: bool(watch.parts)).__enter__()  # type: ignore[no-untyped-call]


class _Watch:
    """``parts``: from the end of a backward to the step, this rank's parts of gradients, by their place in memory."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.parts: dict[tuple[int, int], tuple[weakref.ref[torch.Tensor], Sharding, Cuts]] = {}
        self.marks = adapter.Marks(Mark())

    def entered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.settle()

    def settle(self) -> None:
        self.parts.clear()
        self.marks = adapter.Marks(Mark())

    def backward_ended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self.session.hot.live:
            return
        for sharding in self.session.ledger.shardings:
            for param in sharding.params():
                gradient = param.sharded.grad
                if isinstance(gradient, adapter.DTensor) and (cuts := frozenset(_cuts(gradient))):
                    part = adapter.local(gradient)
                    if (place := adapter.place_in_memory(part)) is not None:
                        self.parts[place] = (weakref.ref(part), sharding, cuts)

    def seen(self, operation: adapter.Operation) -> None:
        targets = [*operation.changed, *operation.made]
        given = [each for each in operation.given if operation.name != "copy_" or each is not operation.given[0]]
        marks = [self._mark(each) for each in given]
        if operation.reduced_over:
            self._reduced([*given, *operation.made], marks, set(operation.reduced_over))
        elif not operation.known and operation.name != "wait_tensor":  # ranks may have communicated
            self._set([*given, *targets], Mark())
        elif any(mark.cuts for mark in marks):
            cuts = frozenset[Cut]().union(*(mark.cuts for mark in marks))
            one = any(mark.one for mark in marks) or operation.name in SUMS and _is_number(operation)
            if operation.name in SCALES and any(mark.one for mark in marks):
                self._scaled(operation.changed, marks)
            for each in targets:
                self._set([each], _of_dtensor(each, one) if isinstance(each, adapter.DTensor) else Mark(cuts, one))
        else:
            self._set(targets, Mark())

    def _reduced(self, tensors: Iterable[torch.Tensor], marks: list[Mark], over: set[int]) -> None:
        cuts = frozenset(cut for mark in marks for cut in mark.cuts if not over.issuperset(cut.ranks))
        self._set(tensors, Mark(cuts, any(mark.one for mark in marks)) if cuts else Mark())

    def _set(self, tensors: Iterable[torch.Tensor], mark: Mark) -> None:
        for each in tensors:
            if self._part(each) is None:  # of those it is known what they are
                self.marks[each] = mark

    def _mark(self, tensor: torch.Tensor) -> Mark:
        part = self._part(tensor)
        return self.marks[tensor] if part is None else Mark(part[1])

    def _part(self, tensor: torch.Tensor) -> tuple[Sharding, Cuts] | None:
        place = adapter.place_in_memory(tensor)
        found = self.parts.get(place) if place is not None else None
        return found[1:] if found is not None and found[0]() is not None else None

    def _scaled(self, changed: Iterable[torch.Tensor], marks: list[Mark]) -> None:
        left_out = tuple(sorted({cut for mark in marks if mark.one for cut in mark.cuts}, key=lambda cut: cut.name))
        found = next((part[0] for each in changed if (part := self._part(each)) is not None), None)
        if found is not None and left_out:
            self.session.dispatch(ValueRead(when=here(), reading=RuntimeFactor(found, left_out)))


def _cuts(tensor: Any) -> Iterator[Cut]:
    """The dimensions along which ranks hold different parts."""
    mesh = tensor.device_mesh
    for dimension, placement in enumerate(tensor.placements):
        if not placement.is_replicate() and mesh.size(dimension) > 1:
            names = adapter.names_of(mesh)
            name = names[dimension] if names else f"dimension {dimension} of the mesh"
            yield Cut(name, adapter.ranks_along(mesh, dimension), str(placement))


def _of_dtensor(tensor: Any, one: bool) -> Mark:
    """What an operation of DTensors makes knows itself what it lacks."""
    partial = any(each.is_partial() for each in tensor.placements)
    cuts = frozenset(_cuts(tensor))
    return Mark(cuts, one=one or partial) if cuts else Mark()


def _is_number(operation: adapter.Operation) -> bool:
    return bool(operation.made) and operation.made[0].numel() == 1 and any(each.numel() > 1 for each in operation.given)
