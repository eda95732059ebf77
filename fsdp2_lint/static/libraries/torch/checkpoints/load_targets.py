"""What ``dcp.load`` is given to fill, as it is when the load begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from astroid import nodes

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain import events
from ....domain.path_conditions import PathCondition
from ....domain.values import NONE, Const, DictV, Obj, ParamV, StateDict, StateTensor, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external

_OF_ITS_SHAPE = frozenset(f"torch.{name}_like" for name in ("empty", "zeros", "ones", "full", "rand", "randn"))
_DCP = "torch.distributed.checkpoint."


@record
class Planner:
    """Torch's own planner of loads. ``partial``: may the checkpoint lack what is asked for? None: not known."""

    partial: bool | None
    made: Moment


@external(_DCP + "DefaultLoadPlanner", _DCP + "default_planner.DefaultLoadPlanner")
def planner_made(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    partial = call.arg(2, "allow_partial_load") or Const(False)
    said = bool(partial.value) if isinstance(partial, Const) and not call.open_why else None
    if isinstance(made, Obj):
        made.atom.know(Planner(said, machine.moment(call.node)))
    return made


def note_load(machine: Machine, call: Call, states: Iterable[Value]) -> None:
    """``states``: what the Stateful objects among it returned."""
    target = call.arg(0, "state_dict")
    if target is None:
        return
    planner = call.arg(None, "planner") or NONE
    machine.emit(
        events.DcpLoad(
            nothing=tuple(_nothing(machine, target, call.node)),
            empty=tuple(_empty_parts(machine, target)),
            optimizers=tuple(each for value in (target, *states) for each in _optimizers(machine, value)),
            gone=tuple(_gone(machine, target, call.node)),
            copies=tuple(_copies(machine, target)),
            planned=planner != NONE,
            planners=tuple(machine.alternatives(planner)),
            loops=machine.loops,
        ),
        call.node,
    )


def _nothing(machine: Machine, target: Value, node: nodes.NodeNG) -> Iterator[tuple[PathCondition, str]]:
    """What keeps nothing of a load: empty dicts, and copies that nobody holds afterwards."""
    for path, leaf in machine.alternatives(target):
        if isinstance(leaf, DictV) and _is_empty(machine, leaf):
            yield path, "nothing but empty dicts" if machine.entries(leaf).entries else "an empty dict"
    written = _written(node)
    values = [pair[1] for pair in written.items] if isinstance(written, nodes.Dict) else [written]
    if values and all(isinstance(value, nodes.Const) for value in values):
        yield machine.guard, "a dict that is gone afterwards, with nothing but constants in it"
    made_here = [value for value in values if isinstance(value, nodes.Call)]
    if made_here and len(made_here) == len(values):
        inside = [leaf for leaf in machine.inside(target) if isinstance(leaf, StateDict)]
        if len(inside) == len(values) and all(leaf.full is True for leaf in inside):
            yield machine.guard, "gathered copies of the tensors, that are gone afterwards"


def _gone(machine: Machine, target: Value, node: nodes.NodeNG) -> Iterator[StateDict]:
    """State dicts that are filled and that nobody can ask afterwards, unless their tensors are the model's."""
    if isinstance(_written(node), nodes.Call):
        for leaf in machine.inside(target):
            held = machine.entries(leaf).entries if isinstance(leaf, DictV) else [(NONE, machine.guard, leaf)]
            for _, _, item in held:
                yield from (each for _, each in machine.alternatives(item) if isinstance(each, StateDict))


def _copies(machine: Machine, target: Value) -> Iterator[tuple[str, Value]]:
    """Under which keys copies of parameters are, which some object may keep, or nobody, and what holds them."""
    for _, leaf in machine.alternatives(target):
        for key, _, item in machine.entries(leaf).entries if isinstance(leaf, DictV) else ():
            if any(map(_is_copy, machine.inside(item))):
                yield f"{key.value!r}" if isinstance(key, Const) else "one key", item


def _is_copy(part: Value) -> bool:
    if isinstance(part, Obj) and part.parent is None and part.atom.origin in _OF_ITS_SHAPE:
        return True
    return isinstance(part, (ParamV, StateTensor)) and part.copied and not (isinstance(part, ParamV) and part.grad)


def _empty_parts(machine: Machine, target: Value) -> Iterator[tuple[PathCondition, str, DictV]]:
    """``{"model": {}, "step": 0}``: DCP drops the part, and fills the rest."""
    for path, leaf in machine.alternatives(target):
        for key, inner, item in machine.entries(leaf).entries if isinstance(leaf, DictV) else ():
            for deeper, part in machine.alternatives(item):
                joined = path.join(inner)
                way = joined.join(deeper) if joined is not None else None
                if way is not None and isinstance(part, DictV) and _is_empty(machine, part):
                    yield way, f"{key.value!r}" if isinstance(key, Const) else "one key", part


def _is_empty(machine: Machine, value: Value) -> bool:
    """A dict with nothing in it, however deep: ``{"model": {}}`` too, of which DCP drops the part that is empty."""
    if not isinstance(value, DictV):
        return False
    held = machine.entries(value)
    inside = (leaf for _, _, item in held.entries for _, leaf in machine.alternatives(item))
    return not held.open_why and all(_is_empty(machine, leaf) for leaf in inside)


def _written(node: nodes.NodeNG) -> nodes.NodeNG | None:
    """The expression for the state dict, where it is written in the call itself."""
    if not isinstance(node, nodes.Call):
        return None
    named = next((each.value for each in node.keywords if each.arg == "state_dict"), None)
    return named if named is not None else node.args[0] if node.args else None


def _optimizers(machine: Machine, value: Value) -> Iterator[tuple[PathCondition, Obj, str]]:
    """The optimizers whose own state dict is to be filled, and how they are called there."""
    for path, leaf in machine.alternatives(value):
        held = machine.entries(leaf).entries if isinstance(leaf, DictV) else [(NONE, path, leaf)]
        for key, inner, item in held:
            for deeper, state in machine.alternatives(item):
                held_by = state.owner if isinstance(state, StateDict) and state.what == "optimizer" else state
                joined = path.join(inner)
                way = joined.join(deeper) if joined is not None else None
                for last, owner in machine.leaves(held_by) if way is not None else ():
                    whole = way.join(last) if way is not None else None
                    if whole is not None and isinstance(owner, Obj) and owner in machine.libraries.optimizers:
                        name = f"{key.value!r}" if isinstance(key, Const) and key != NONE else "the state"
                        yield whole, owner, name
