"""Methods of FSDP1's wrapper that are asked of a model."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.choices import choose
from ....domain.path_conditions import TRUE
from ....domain.values import NONE, Obj, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external, method
from ...words import describe

OF_FSDP1 = frozenset({"no_sync", "clip_grad_norm_"})
_CATCHING = frozenset({"AttributeError", "Exception", "BaseException"})


def asked(machine: Machine, obj: Obj, name: str, node: nodes.NodeNG, *, goes_on: bool = False) -> None:
    """A model is asked for one of these. ``goes_on``: an answer of no is provided for."""
    if machine.libraries.any_sharded:
        machine.emit(events.Fsdp1Method(name=name, goes_on=goes_on or _caught(node)), node, obj)


def _caught(node: nodes.NodeNG) -> bool:
    """Does the function itself handle the AttributeError?"""
    at = node
    while at.parent is not None and not isinstance(at, nodes.FunctionDef):
        if isinstance(at.parent, nodes.Try) and at in at.parent.body:
            for handler in at.parent.handlers:
                caught = handler.type
                names = {part.name for part in caught.nodes_of_class(nodes.Name)} if caught is not None else _CATCHING
                if names & _CATCHING:
                    return True
        at = at.parent
    return False


@method(*OF_FSDP1)
def called(machine: Machine, obj: Obj, call: Call) -> Value:
    name = call.name
    asked(machine, obj, name, call.node)
    if not machine.libraries.harmless_object(obj):
        machine.libraries.havoc(f"{describe(obj)}.{name}()", call, receiver=obj)
    return call.result(obj, name)


@external("torch.distributed.fsdp.FullyShardedDataParallel.fsdp_modules")
def fsdp1_modules(machine: Machine, call: Call) -> Value:
    """The parts that FSDP1 has wrapped: a model that FSDP2 shards has none."""

    def one(leaf: Value) -> Value:
        sharded = machine.libraries.is_sharded_formula(leaf) if isinstance(leaf, Obj) else False
        yes, no = TRUE.add(sharded), TRUE.add(sharded, False)
        some = unknown(call.name)
        return choose([(path, made) for path, made in ((yes, machine.new_list([])), (no, some)) if path is not None])

    return machine.over(call.arg(0, "module") or NONE, one)


def looked_up(machine: Machine, call: Call) -> None:
    """``getattr(model, "no_sync", None)`` and ``hasattr(model, "no_sync")``."""
    name = getattr(call.arg(1), "value", None)
    if name not in OF_FSDP1:
        return
    for leaf in machine.objects(call.arg(0)):
        if machine.find_attr(leaf, name) is None:
            known = call.name.endswith("getattr") and len(call.args) < 3
            asked(machine, leaf, name, call.node, goes_on=not known)
