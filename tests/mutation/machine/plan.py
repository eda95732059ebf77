"""Faults of the plan: what is sharded, in which order, and how often."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import ClassVar

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.relations import Relation
from fsdp2_lint.static.domain.values import Const, Ext, Obj

from .operator import TORCH, Mutant, Operator, Plant, argument, keyword
from .text import Edit, Text
from .view import Root, Unit, View, is_plain

WITH_WEIGHTS = {"Linear", "Embedding", "LayerNorm", "RMSNorm", "Conv1d", "Conv2d", "Conv3d"}


def unwrapped(view: View, units: Iterable[Unit]) -> tuple[Edit, ...]:
    """Each call of ``fully_shard`` becomes what it was given; empty if one of them is not written so."""
    edits: dict[Edit, None] = {}
    for unit in units:
        found = view.call(unit)
        given = argument(found[1], 0, "module") if found is not None else None
        if found is None or given is None:
            return ()
        edits[found[0].replaced(found[1], found[0].words(given))] = None
    return tuple(edits)


def sites(units: Iterable[Unit]) -> set[object]:
    return {unit.when.at for unit in units}


def apart(root: Root) -> bool:
    """Is the whole sharded by a call of its own?"""
    return root.whole.when.at not in sites(root.parts)


class RootOnly(Operator):
    name, code = "parts-not-sharded", "FSDP301"
    fault = "no part of the model is sharded by itself any more"

    def places(self, view: View) -> Iterator[Plant]:
        for root in view.roots():
            edits = unwrapped(view, root.parts) if apart(root) and self._large(view, root) else ()
            if edits:
                yield Plant(edits, view.home(root.model), (root.whole.when.at,))

    def _large(self, view: View, root: Root) -> bool:
        """Is it trained, and are its parts a stack of blocks? One group of a few layers is no fault."""
        parts = (unit.what.group[0] for unit in root.parts if unit.what.looped and unit.what.group)
        return view.learns(root.model) and any(view.is_each(part) for part in parts)

    def shown(self, mutant: Mutant) -> bool:
        wholes = mutant.kept(events.Sharded)
        return any(not any(mutant.view.units(unit.subject, Relation.CONTAINS)) for unit in wholes)


class RootForgotten(Operator):
    name, code = "root-not-sharded", "FSDP303"
    fault = "the model itself is not sharded any more, and has layers with weights outside its parts"

    def places(self, view: View) -> Iterator[Plant]:
        if any(view.trace.of(events.Frozen)) or not any(view.trace.of(events.Backward)):
            return  # what is left over may have no gradients
        for root in view.roots():
            edits = unwrapped(view, [root.whole]) if apart(root) and self._left_over(view, root) else ()
            if edits:
                yield Plant(edits, view.home(root.model), tuple(unit.when.at for unit in root.parts))

    def _left_over(self, view: View, root: Root) -> bool:
        """Is there a layer in it that no part holds?"""
        inside = (each for each in self._layers(view) if view.program.relation(root.model, each) is Relation.CONTAINS)
        around = (view.units(each, Relation.SAME, Relation.INSIDE, Relation.MAY) for each in inside)
        return any(all(unit is root.whole for unit in units) for units in around)

    def _layers(self, view: View) -> Iterator[Obj]:
        for child in view.program.machine.parents:
            cls = child.atom.cls
            if child.parent is None and isinstance(cls, Ext) and cls.qname.rsplit(".", 1)[-1] in WITH_WEIGHTS:
                yield child

    def shown(self, mutant: Mutant) -> bool:
        parts = mutant.kept(events.Sharded)
        return bool(parts) and not any(any(mutant.view.units(part.subject, Relation.INSIDE)) for part in parts)


class RootFirst(Operator):
    name, code = "root-first", "FSDP302"
    fault = "the model is sharded before its parts"

    def places(self, view: View) -> Iterator[Plant]:
        for root in view.roots():
            found = view.in_order(min(root.parts, key=lambda unit: unit.index), root.whole)
            if found is not None:
                text, part, whole = found
                yield Plant(text.moved(whole, part), view.home(root.model))

    def shown(self, mutant: Mutant) -> bool:
        wholes = mutant.planted(events.Sharded)
        parts = ((whole, part) for whole in wholes for part in mutant.view.units(whole.subject, Relation.CONTAINS))
        return any(whole.precedes(part) for whole, part in parts)


class AtRoot(Operator):
    """One more statement behind the call that shards a whole model, or before it."""

    before: ClassVar[bool] = False

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        raise NotImplementedError

    def places(self, view: View) -> Iterator[Plant]:
        for root in view.roots():
            found = view.call(root.whole)
            given = argument(found[1], 0, "module") if found is not None else None
            if found is None or given is None or not is_plain(given) or not apart(root):
                continue
            edit = self._beside(found[0], root, given)
            if edit is not None:
                yield Plant((edit,), view.home(root.model), (root.whole.when.at,))

    def _beside(self, text: Text, root: Root, given: ast.expr) -> Edit | None:
        statement = text.statement(root.whole.when.at)
        if not isinstance(statement, (ast.Expr, ast.Assign)):
            return None  # what returns or decides something has nothing behind it
        lines = self.lines(text.words(given), ast.unparse(statement))
        return text.before(statement, *lines) if self.before else text.after(statement, *lines)


class ShardedTwice(AtRoot):
    name, code = "sharded-twice", "FSDP305"
    fault = "the call that shards the model stands there twice"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return (statement,)

    def shown(self, mutant: Mutant) -> bool:
        again = mutant.planted(events.Sharded)
        others = ((unit, other) for unit in again for other in mutant.view.units(unit.subject, Relation.SAME))
        return any(other is not unit and other.precedes(unit) for unit, other in others)


class AddedLater(AtRoot):
    name, code = "layer-added-later", "FSDP304"
    fault = "a layer is added to the model after it was sharded"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return TORCH, f"{model}.planted_head = planted.nn.Linear(4096, 4096)"

    def shown(self, mutant: Mutant) -> bool:
        added = mutant.planted(events.Attached)
        return any(mutant.view.sharded(step.subject, step) for step in added)


class SecondWrapper(AtRoot):
    name, code = "second-wrapper", "FSDP310"
    fault = "DDP is put around a model that is sharded"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return TORCH, f"planted_ddp = planted.nn.parallel.DistributedDataParallel({model})"

    def shown(self, mutant: Mutant) -> bool:
        wraps = mutant.planted(events.Wrapped)
        return any(mutant.view.sharded(wrap.subject, wrap) for wrap in wraps)


class LowPrecision(AtRoot):
    name, code, before = "low-precision", "FSDP501", True
    fault = "the weights that an optimizer trains are kept in bf16"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return TORCH, f"{model}.to(planted.bfloat16)"

    def places(self, view: View) -> Iterator[Plant]:
        if not any(view.trace.of(events.DefaultDtype)) and any(view.trace.of(events.Optimizer)):
            if not any(view.learns(cast.subject) for cast in view.trace.of(events.Cast)):
                yield from super().places(view)

    def shown(self, mutant: Mutant) -> bool:
        return any(
            cast.what.dtype == "bfloat16" and mutant.view.learns(cast.subject) for cast in mutant.planted(events.Cast)
        )


class KeptGathered(Operator):
    name, code = "never-resharded", "FSDP312"
    fault = "every group keeps its parameters gathered"

    def places(self, view: View) -> Iterator[Plant]:
        if any(view.trace.of(events.ReshardingSwitched, events.Reshard, events.Pipelined)):
            return  # what the calls say is not what holds
        for root in view.roots():
            units = (*root.parts, root.whole)
            made = [self._kept(view, unit) for unit in units]
            edits = tuple(dict.fromkeys(edit for edit in made if edit is not None))
            if None not in made:
                yield Plant(edits, view.home(root.model))

    def _kept(self, view: View, unit: Unit) -> Edit | None:
        found = view.call(unit)
        if found is None or unit.what.options_open or not found[1].args or isinstance(found[1].args[0], ast.Starred):
            return None
        text, call = found
        given = keyword(call, "reshard_after_forward")
        if given is not None:
            return text.replaced(given, "False")
        passed = "reshard_after_forward" in unit.what.options  # in a dict, which says it for others too
        return None if passed else text.appended(call.args[0], ", reshard_after_forward=False")

    def shown(self, mutant: Mutant) -> bool:
        units = mutant.planted(events.Sharded)
        return bool(units) and all(unit.what.options.get("reshard_after_forward") == Const(False) for unit in units)


OPERATORS = (
    RootOnly(),
    RootForgotten(),
    RootFirst(),
    ShardedTwice(),
    AddedLater(),
    SecondWrapper(),
    LowPrecision(),
    KeptGathered(),
)
