"""Calls of the state-dict helpers of DCP, kept as they were made: what they were given, with which options."""

from __future__ import annotations

from collections.abc import Mapping

from astroid import nodes

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain import events
from ....domain.path_conditions import PathCondition
from ....domain.values import NONE, AbstractObject, Const, DictV, Obj, StateDict, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...words import describe
from ..sharding.sharding import keyword_sites

OPTIONS = (
    "full_state_dict", "cpu_offload", "ignore_frozen_params", "keep_submodule_prefixes", "strict",
    "broadcast_from_rank0", "flatten_optimizer_state_dict", "dsd_fqn_modifiers",
)  # fmt: skip
_GET = ("model", "submodules", "options")
_SET = ("model", "options")
# Every keyword that a helper has in any version of torch.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "get_model_state_dict": _GET,
    "get_optimizer_state_dict": (*_GET, "optimizers"),
    "get_state_dict": (*_GET, "optimizers"),
    "set_model_state_dict": (*_SET, "model_state_dict"),
    "set_optimizer_state_dict": (*_SET, "optimizers", "optim_state_dict"),
    "set_state_dict": (*_SET, "optimizers", "model_state_dict", "optim_state_dict"),
    "StateDictOptions": OPTIONS,
}
# Where each helper takes state dicts: (position, keyword).
_STATES: dict[str, tuple[tuple[int | None, str], ...]] = {
    "set_model_state_dict": ((1, "model_state_dict"),),
    "set_optimizer_state_dict": ((2, "optim_state_dict"),),
    "set_state_dict": ((None, "model_state_dict"), (None, "optim_state_dict")),  # by keyword only
}


@record
class Options:
    """What ``StateDictOptions`` is given, by name; ``open_why``: why there may be more of it."""

    given: Mapping[str, Value]
    open_why: str
    made: Moment

    def says(self, name: str) -> bool | None:
        """None where it cannot be told. All of them are off unless they are given."""
        given = self.given.get(name)
        if given is None:
            return None if self.open_why else False
        return bool(given.value) if isinstance(given, Const) else None


def note_options(machine: Machine, atom: AbstractObject, call: Call) -> None:
    note_helper(machine, "StateDictOptions", call, None)
    made = machine.trace.steps[-1].when
    atom.know(Options({**dict(zip(OPTIONS, call.args)), **call.kwargs}, call.open_why, made))


def option(leaf: Value, name: str) -> bool | None:
    """What one set of options says, or none at all; None where it cannot be told."""
    if leaf == NONE:
        return False
    known = leaf.atom.state(Options) if isinstance(leaf, Obj) and leaf.parent is None else None
    return known.says(name) if known is not None else None


def lenient(leaf: Value) -> bool:
    """Do these options let a state dict lack what the model has?"""
    known = leaf.atom.state(Options) if isinstance(leaf, Obj) and leaf.parent is None else None
    return known is not None and known.given.get("strict") == Const(False)


def note_helper(machine: Machine, name: str, call: Call, model: Obj | None) -> None:
    """A call of a state-dict helper, with its options and with what it was called for."""
    states = [call.arg(*each) for each in _STATES.get(name, ())]
    machine.emit(
        events.StateHelper(
            helper=name,
            models=tuple(machine.objects(call.arg(0, "model"))) if model is not None else (),
            optimizers=_optimizers(machine, call) if "optimizers" in KEYWORDS[name] else (),
            options=tuple(machine.alternatives(call.arg(None, "options") or NONE)),
            open_why=call.open_why,
            keywords=keyword_sites(machine, call),
            given=tuple(leaf for _, leaf in machine.leaves(states[0])) if states and states[0] is not None else (),
            missing_on=tuple(path for state in states if state is not None for path in _empty(machine, state)),
            unfollowed=next((why for state in states if state is not None if (why := _unfollowed(machine, state))), ""),
            tried=_tried(call.node),
            dropped=isinstance(call.node.parent, nodes.Expr),
            loops=machine.loops,
        ),
        call.node,
        model,
    )


def _optimizers(machine: Machine, call: Call) -> tuple[Obj, ...]:
    value = call.arg(1, "optimizers")
    leaves = machine.leaves(value) if value is not None else ()
    return tuple(leaf for _, leaf in leaves if isinstance(leaf, Obj))


def _empty(machine: Machine, state: Value) -> list[tuple[PathCondition, bool]]:
    """The paths on which a state dict has nothing in it as it is now, and whether it has on rank 0."""
    found = []
    for path, leaf in machine.alternatives(state):
        if isinstance(leaf, DictV):
            held = machine.entries(leaf)
            nothing = not held.entries and not held.open_why
        else:
            nothing = leaf == NONE
        of_rank0 = isinstance(leaf, StateDict) and leaf.rank0
        if nothing or of_rank0:
            found.append((path, of_rank0))
    return found


def _unfollowed(machine: Machine, state: Value) -> str:
    """What of a state dict may be empty on some ranks, since nobody saw where it comes from, or who fills it."""
    for _, leaf in machine.alternatives(state):
        if isinstance(leaf, Obj) and leaf.atom.kind in ("opaque", "parameter"):
            return describe(leaf)
        if isinstance(leaf, DictV) and not (held := machine.entries(leaf)).entries and held.open_why:
            return "what a dict holds"
    return ""


def _tried(node: nodes.NodeNG) -> bool:
    """Is the call an attempt, after which an ``except`` takes another way?"""
    at, inner = node.parent, node
    while at is not None and not isinstance(at, nodes.FunctionDef):
        if isinstance(at, nodes.Try) and inner in at.body and at.handlers:
            return True
        at, inner = at.parent, at
    return False
