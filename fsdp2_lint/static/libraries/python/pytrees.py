"""``torch.utils._pytree``: a function over every tensor of nested lists, tuples and dicts."""

from __future__ import annotations

from ...budget import BUDGET
from ...domain.formulas import Formula, either
from ...domain.path_conditions import TRUE
from ...domain.store import Entries, Items
from ...domain.values import (
    NONE,
    ClassV,
    Computed,
    DictV,
    Ext,
    ListV,
    Params,
    ParamV,
    StateDict,
    StateTensor,
    TupleV,
    Value,
    unknown,
)
from ...interpreter.call import Call
from ..interface import Machine
from ..tables import external
from ..torch.checkpoints import gathering
from .kinds import is_a


@external("torch.utils._pytree.tree_map", "torch.utils._cxx_pytree.tree_map")
def tree_map(machine: Machine, call: Call) -> Value:
    return _mapped(machine, call, call.arg(0, "func"), call.arg(1, "tree"), None)


@external("torch.utils._pytree.tree_map_only", "torch.utils._cxx_pytree.tree_map_only")
def tree_map_only(machine: Machine, call: Call) -> Value:
    return _mapped(machine, call, call.arg(1, "func"), call.arg(2, "tree"), call.arg(0) or NONE)


def _mapped(machine: Machine, call: Call, function: Value | None, tree: Value | None, kinds: Value | None) -> Value:
    if function is None or tree is None:
        return unknown(call.name)
    return _Mapping(machine, call, function, kinds).over(tree, 0)


class _Mapping:
    """One call of ``tree_map``. ``kinds``: the classes of what the function is given; None for all leaves."""

    def __init__(self, machine: Machine, call: Call, function: Value, kinds: Value | None) -> None:
        self.machine, self.call, self.function, self.kinds = machine, call, function, kinds

    def over(self, tree: Value, depth: int) -> Value:
        if depth > BUDGET.path:  # a list that holds itself
            return unknown("a part of nested data")
        return self.machine.over(tree, lambda leaf: self._one(leaf, depth + 1))

    def _one(self, leaf: Value, depth: int) -> Value:
        if isinstance(leaf, StateDict):
            return self._state_dict(leaf)
        if isinstance(leaf, DictV):
            return self._dict(leaf, depth)
        if isinstance(leaf, TupleV):
            return TupleV(tuple(self.over(item, depth) for item in leaf.items))
        if isinstance(leaf, (ListV, Params)):
            return self._list(leaf, depth)
        return self._tensor(leaf) if isinstance(leaf, (StateTensor, ParamV, Computed)) else leaf

    def _state_dict(self, state: StateDict) -> Value:
        """One whose tensors stay as they are is still one; else it is a dict of what became of them."""
        if state.full is True:
            return state
        tensor = self.over(gathering.each_tensor(self.machine, state), 0)
        if all(isinstance(made, StateTensor) for _, made in self.machine.alternatives(tensor)):
            return state
        return self.machine.new_dict({gathering.each_key(state): tensor})

    def _dict(self, leaf: DictV, depth: int) -> Value:
        held, made = self.machine.entries(leaf), self.machine.new_dict()
        entries = tuple((key, path, self.over(value, depth)) for key, path, value in held.entries)
        self.machine.store.put(made.id, Entries(entries, held.open_why), local=True)
        return made

    def _list(self, leaf: Value, depth: int) -> Value:
        held, made = self.machine.listing(leaf), self.machine.new_list()
        items = tuple((path, self.over(item, depth)) for path, item in held.items)
        self.machine.store.put(made.id, Items(items, held.exact, held.open_why), local=True)
        return made

    def _tensor(self, leaf: Value) -> Value:
        asked = self._asked(leaf)
        yes, no = TRUE.add(asked), TRUE.add(asked, False)
        arms = [(yes, lambda: self._called(leaf))] if yes is not None else []
        return self.machine.branch([*arms, (no, lambda: leaf)] if no is not None else arms)

    def _called(self, leaf: Value) -> Value:
        return self.machine.call(self.function, Call(self.call.node, [leaf]))

    def _asked(self, leaf: Value) -> Formula:
        if self.kinds is None:
            return True
        asked = [kind for kind in self.machine.inside(self.kinds) if not isinstance(kind, (TupleV, ListV))]
        return either(
            is_a(leaf, kind) if isinstance(kind, (Ext, ClassV)) else self._chosen(kind, leaf) for kind in asked
        )

    def _chosen(self, predicate: Value, leaf: Value) -> Formula:
        return self.machine.truth(self.machine.call(predicate, Call(self.call.node, [leaf])))
