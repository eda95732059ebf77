"""State dicts, and other dicts, whose tensors a loop replaces in place, each by its gathered self.

Which tensors a dict holds now is kept in the store under the dict itself, as one value that stands for each of them.
Only what is put in under each of its own keys counts: a tensor under one key says nothing of the others.
"""

from __future__ import annotations

from .....vocab.declared import record
from ....domain.choices import choose, options
from ....domain.path_conditions import TRUE, PathCondition
from ....domain.values import Const, DictV, Obj, StateDict, StateTensor, TupleV, Value, unknown
from ....interpreter.call import Call
from ....interpreter.statements.in_turn import each_in_turn
from ...interface import Machine

_EMPTY = TupleV(())
_PER_PARAMETER, _SETTINGS = Const("state"), Const("param_groups")  # what the state dict of an optimizer holds


@record
class EachKey:
    """What stands for each key of this dict."""

    of: StateDict


@record
class WholeOf:
    """A tensor of a state dict that is gathered."""

    state: StateDict


def each_key(state: StateDict) -> Obj:
    """What stands for each key of this dict; the keys are the same on all ranks."""
    key = _key()
    key.atom.know(EachKey(state))
    return key


def is_each_key(value: Value) -> bool:
    return isinstance(value, Obj) and value.parent is None and value.atom.state(EachKey) is not None


def each_tensor(machine: Machine, state: StateDict) -> Value:
    """What stands for each of its tensors, as they are now."""
    if state.full is True:
        whole = unknown("a full tensor")
        whole.atom.know(WholeOf(state))
        return whole
    replaced: Value | None = machine.store.get(state)
    if replaced == _EMPTY:
        return unknown("a tensor of a dict that was emptied")
    return StateTensor(state) if replaced is None else replaced


def replaced(machine: Machine, state: StateDict) -> Value | None:
    """The tensors that were put in the place of its own; None where it holds what it was read with."""
    found: Value | None = machine.store.get(state)
    same = found is not None and all(leaf == StateTensor(state) for _, leaf in options(found))
    return None if same else found


def item_put(machine: Machine, state: StateDict, key: Value, value: Value, path: PathCondition) -> None:
    """``state[key] = value``, where a loop that is never left early goes through all its keys."""
    if _goes_through(machine, state, key) or state.what == "optimizer" and key == _PER_PARAMETER:
        _put(machine, state, value, path)
    elif (old := machine.store.get(state)) is not None:
        _add(machine, state, old, value)


def item_taken(machine: Machine, state: StateDict, key: Value) -> None:
    """``state.pop(key)`` in such a loop leaves none of its own tensors; those under new names come back in."""
    if state.full is not True and _goes_through(machine, state, key):
        machine.store.put(state, _EMPTY)


def left_open(machine: Machine, state: StateDict) -> None:
    """Code that was not followed may have put anything in the place of its tensors."""
    machine.store.put(state, unknown("a tensor that a loop may have replaced", kind="opaque"))


def _add(machine: Machine, state: StateDict, old: Value, value: Value) -> None:
    """It holds the one and the other, under keys of their own."""
    number = machine.fresh()
    arms = [TRUE.add(("is", ("alt", number), arm)) or TRUE for arm in range(2)]
    both = value if old in (_EMPTY, value) else choose([(arms[0], old), (arms[1], value)])
    machine.store.put(state, both)


def item(machine: Machine, state: StateDict, key: Value) -> Value:
    """``state[key]``."""
    if state.what == "optimizer" and key == _SETTINGS:
        return unknown("an optimizer's settings")  # numbers and names, no tensors
    nested = state.what == "optimizer" and key == _PER_PARAMETER
    return _per_parameter(machine, state) if nested else each_tensor(machine, state)


def _per_parameter(machine: Machine, state: StateDict) -> Value:
    """``state["state"]`` of an optimizer: for each parameter, its tensors by name."""
    if state.full is True or machine.store.get(state) is not None:
        return each_tensor(machine, state)
    made = machine.new_dict({_key(): machine.new_dict({_key(): StateTensor(state)})})
    machine.store.put(state, made)
    return made


def _key() -> Obj:
    key = unknown("a key", kind="configuration")
    key.atom.shared = True
    return key


def _goes_through(machine: Machine, state: StateDict, key: Value) -> bool:
    return is_key_of(state, key) and each_in_turn(machine, key)


def updated(machine: Machine, state: StateDict, call: Call) -> None:
    """``state.update({key: ... for key in state})``."""
    for path, given in (each for value in call.args for each in machine.alternatives(value)):
        for key, there, value in machine.entries(given).entries if isinstance(given, DictV) else ():
            if is_key_of(state, key) and (joined := path.join(there)) is not None:
                _put(machine, state, value, joined)


def _put(machine: Machine, state: StateDict, value: Value, path: PathCondition) -> None:
    old = [] if path is TRUE else machine.rest(path, each_tensor(machine, state))
    machine.store.put(state, choose([(path, value), *old]))


def is_key_of(state: StateDict, key: Value) -> bool:
    """Two dicts of one model have the same keys."""
    each = key.atom.state(EachKey) if isinstance(key, Obj) and key.parent is None else None
    return each is not None and (each.of.what, each.of.owner) == (state.what, state.owner)
