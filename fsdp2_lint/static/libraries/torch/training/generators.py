"""Generators of parameters: where they are made, and what takes all that is in them."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.path_conditions import TRUE, PathCondition
from ....domain.values import Const, DictV, ListV, Obj, Params, ParamV, TupleV, Value
from ....interpreter.call import Call
from ...interface import Machine


def expression_made(machine: Machine, made: ListV, node: nodes.NodeNG) -> None:
    """``(p for p in model.parameters() if …)``."""
    if (model := _model(machine, made)) is not None:
        machine.emit(events.Generator(made=made.id), node, model)


def consumed(
    machine: Machine,
    leaf: Value,
    node: nodes.NodeNG,
    by: str,
    path: PathCondition = TRUE,
    *,
    whole: bool = True,
    seen: bool = True,
) -> None:
    """After this the generator yields nothing more; where not ``whole``, perhaps."""
    model = _model(machine, leaf)
    if model is None:
        return
    key = ("list", leaf.id) if isinstance(leaf, ListV) else ("step", leaf.made) if isinstance(leaf, Params) else None
    joined = machine.guard.join(path)
    if key is not None and joined is not None:
        with machine.on_path(joined):
            machine.emit(events.Consumed(generator=key, by=by, whole=whole, seen=seen), node, model)


def consumed_by_call(machine: Machine, given: Value, node: nodes.NodeNG, by: str) -> None:
    """An optimizer or a function of torch: what it is given is one generator, or groups that hold one each."""
    for path, leaf in machine.alternatives(given):
        consumed(machine, leaf, node, by, path)
        if isinstance(leaf, (ListV, TupleV)):
            for inner, group in machine.listing(leaf).items:
                joined = path.join(inner)
                if isinstance(group, DictV) and joined is not None:
                    held = machine.entries(group).get(Const("params"))
                    for deeper, params in machine.alternatives(held) if held is not None else ():
                        if (whole := joined.join(deeper)) is not None:
                            consumed(machine, params, node, by, whole)


def handed(machine: Machine, who: str, call: Call) -> None:
    """Code that is not seen has generators in its hands: perhaps it reads them."""
    for value in call.all:
        for path, leaf in machine.alternatives(value):
            consumed(machine, leaf, call.node, who, path, whole=False, seen=False)


def _model(machine: Machine, leaf: Value) -> Obj | None:
    """The model whose parameters a generator yields."""
    if isinstance(leaf, Params):
        return next(iter(machine.objects(leaf.model)), None)
    if isinstance(leaf, ListV) and leaf.lazy:
        for _, item in machine.items(leaf).items:
            for part in item.items if isinstance(item, TupleV) else (item,):
                if isinstance(part, ParamV) and isinstance(part.model, Obj):
                    return part.model
    return None
