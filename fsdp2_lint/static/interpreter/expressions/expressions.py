"""Expressions: each evaluates to an abstract value."""

from __future__ import annotations

import operator
from typing import Any

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose
from ...domain.formulas import both, either, negate
from ...domain.path_conditions import TRUE
from ...domain.store import Items
from ...domain.values import (
    NONE,
    Computed,
    Cond,
    Const,
    DictV,
    GuardedUnion,
    ListV,
    Obj,
    ParamV,
    Rank,
    StateTensor,
    Text,
    TupleV,
    Value,
)
from ..call import Call
from ..machine import L
from . import domains, lists, orders, owning
from .numbers import number_made_of, some_number
from .texts import Texts

_ARITHMETIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "<<": operator.lshift,
}  # fmt: skip
_METHODS_OF = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip


class Expressions(Texts[L]):
    def eval(self, node: nodes.NodeNG) -> Value:
        self.tick()
        method = getattr(self, f"eval_{type(node).__name__}", None)
        return method(node) if method else self.havoc(node)

    def eval_Const(self, node: nodes.Const) -> Value:
        return Const(node.value)

    def eval_Name(self, node: nodes.Name) -> Value:
        return self.lookup(node.name)

    def eval_Attribute(self, node: nodes.Attribute) -> Value:
        return self.get_attr(self.eval(node.expr), node.attrname, node)

    def eval_NamedExpr(self, node: nodes.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value)
        return value

    def eval_Await(self, node: nodes.Await) -> Value:
        return self.eval(node.value)

    def eval_Starred(self, node: nodes.Starred) -> Value:
        return self.eval(node.value)

    def eval_Lambda(self, node: nodes.Lambda) -> Value:
        return self.function_value(node)

    def eval_Tuple(self, node: nodes.Tuple) -> Value:
        if any(isinstance(part, nodes.Starred) for part in node.elts):
            return self.display(node)
        items = tuple(self.eval(part) for part in node.elts)
        if (
            sum(map(tuple_size, items)) > BUDGET.tuple_leaves
        ):  # a tuple of tuples of tuples: a list is compared by identity
            return self.new_list(list(items))
        return TupleV(items)

    def eval_List(self, node: nodes.List) -> Value:
        return self.display(node)

    def eval_Set(self, node: nodes.Set) -> Value:
        return orders.made_set(self, self.display(node))

    def display(self, node: nodes.List | nodes.Tuple | nodes.Set) -> ListV:
        """What is written out, element by element."""
        items: list[tuple[Any, Value]] = []
        exact, why = True, ""
        for part in node.elts:
            if isinstance(part, nodes.Starred):
                held = self.listing(self.eval(part.value))
                items += held.items
                exact, why = exact and held.exact, why or held.open_why
            else:
                items.append((TRUE, self.eval(part)))
        made = self.new_list([])
        self.store.put(made.id, Items(tuple(items), exact, why))
        return made

    def eval_Dict(self, node: nodes.Dict) -> Value:
        made = self.new_dict()
        for key, value in node.items:
            if isinstance(key, nodes.DictUnpack):
                self.update_dict(made, self.eval(value))
            else:
                self.set_item(made, self.eval(key), self.eval(value), node)
        return made

    def update_dict(self, target: DictV, other: Value) -> None:
        """Keys of the other dict replace those of this one; open where the other is."""
        from ...domain.store import ALL_KEYS, Entries

        held = self.entries(target)
        for guard, leaf in self.alternatives(other):
            if isinstance(leaf, DictV):
                more = self.entries(leaf)
                held = held.joined(TRUE, held, TRUE)
                for key, path, value in more.entries:
                    joined = guard.join(path)
                    if joined is not None:
                        old = [(there, before) for name, there, before in held.entries if name == key]
                        if joined is TRUE:
                            held = held.put(key, value)
                        elif any(there is TRUE for there, _ in old):
                            held = held.put(key, choose([(joined, value), *self.rest(joined, choose(old))]))
                        else:  # it is there on some paths only
                            held = held.added(key, joined, value)
                held = Entries(held.entries, held.open_why or more.open_why)
            elif leaf != NONE:
                held = Entries(
                    (*held.entries, (ALL_KEYS, guard, leaf)), held.open_why or "a mapping that was not followed"
                )
        self.store.put(target.id, held)

    def eval_IfExp(self, node: nodes.IfExp) -> Value:
        formula = self.condition(node.test)
        decided = self.guard.decide(formula)
        if decided is not None:
            return self.eval(node.body if decided else node.orelse)
        self.asks_rank(formula, node.test)
        return self.branch(
            [
                (TRUE.add(formula) or TRUE, lambda: self.eval(node.body)),
                (TRUE.add(formula, False) or TRUE, lambda: self.eval(node.orelse)),
            ]
        )

    def eval_BoolOp(self, node: nodes.BoolOp) -> Value:
        """``a or b`` as a value: each operand on the path on which it is the result."""
        results: list[tuple[Any, Value]] = []
        path, start = TRUE, self.guard
        for position, part in enumerate(node.values):
            value = self.eval(part)
            if position == len(node.values) - 1:
                results.append((path, value))
                break
            self.libraries.tested(value, part)
            formula = self.truth(value)
            stop = formula if node.op == "or" else negate(formula)
            taken, onward = path.add(stop), path.add(stop, False)
            if taken is not None:
                results.append((taken, value))
            narrowed = self.guard.add(stop, False)
            if onward is None or narrowed is None:
                break
            path, self.guard = onward, narrowed
        self.guard = start
        if all(
            isinstance(value, Cond) or isinstance(value, Const) and isinstance(value.value, bool)
            for _, value in results
        ):
            return self.cond(self.condition_of_parts(node.op, [value for _, value in results]))
        return choose(results)

    def eval_UnaryOp(self, node: nodes.UnaryOp) -> Value:
        if node.op == "not":
            return self.cond(self.condition(node))
        value = self.eval(node.operand)
        if node.op == "-" and isinstance(value, Const) and isinstance(value.value, (int, float)):
            return Const(-value.value)
        kept = isinstance(value, (ParamV, StateTensor, Computed))
        return value if kept else number_made_of(self, "arithmetic", value)

    def eval_Compare(self, node: nodes.Compare) -> Value:
        return self.cond(self.condition(node))

    def cond(self, formula: Any) -> Value:
        return Const(formula) if isinstance(formula, bool) else Cond(formula)

    def eval_BinOp(self, node: nodes.BinOp) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        self.libraries.met(node, node.op, left, right)
        own = self.own_operator(node, left, right)
        return own if own is not None else self.binary(node.op, left, right)

    def own_operator(self, node: nodes.BinOp, left: Value, right: Value) -> Value | None:
        """The method of a class of the project that an operator calls."""
        name = _METHODS_OF.get(node.op, "")
        for mine, method, other in ((left, f"__{name}__", right), (right, f"__r{name}__", left)):
            if name and isinstance(mine, Obj) and self.class_of(mine) is not None:
                found = self.find_attr(mine, method)
                if found is not None:
                    return self.call(found, Call(node, [other]))
        return None

    def binary(self, op: str, left: Value, right: Value) -> Value:
        """The result where both sides are known; else a number, a text or an unknown that remembers them."""
        if isinstance(left, Const) and isinstance(right, Const):
            return self.constant(op, left.value, right.value)
        if isinstance(left, (ParamV, Computed)) or isinstance(right, (ParamV, Computed)):
            if not isinstance(left, GuardedUnion) and not isinstance(right, GuardedUnion):
                return self.libraries.tensor_arithmetic(op, left, right)
        if op == "+" and isinstance(left, (ListV, TupleV)):
            made = self.new_list([])
            self.extend(made, left)
            self.extend(made, right)
            return made
        if op == "*" and isinstance(left, (ListV, TupleV)) and isinstance(right, Const):
            if (held := lists.repeated(self.listing(left), right)) is not None:
                return self.listed(held)
        if op == "*" and isinstance(left, (ListV, TupleV)) and isinstance(right, Obj):
            if (held := lists.repeated_often(self.listing(left))) is not None:
                return self.listed(held)
        if op in ("&", "|") and domains.is_flag(self, left) and domains.is_flag(self, right):
            parts = [self.truth(left), self.truth(right)]
            return self.cond(both(parts) if op == "&" else either(parts))
        if op == "+" and domains.is_flag(self, left) and domains.is_flag(self, right):
            number = domains.counted([self.truth(left), self.truth(right)])
            return number if number is not None else some_number("arithmetic")
        if op == "|" and isinstance(left, DictV):
            made_dict = self.new_dict()
            self.update_dict(made_dict, left)
            self.update_dict(made_dict, right)
            return made_dict
        if op == "%" and isinstance(left, Rank):  # rank % gpus_per_node
            return Rank("local") if left.kind == "global" else left
        if op == "//" and isinstance(left, Rank):
            return Rank("node")
        if op in ("+", "/", "%") and (self.is_text(left) or self.is_text(right)):
            return self.text([left, right])
        if isinstance(left, GuardedUnion) or isinstance(right, GuardedUnion):
            return self.over(
                left,
                lambda a: self.over(
                    right,
                    lambda b: (
                        number_made_of(self, "arithmetic", a, b)
                        if isinstance(a, GuardedUnion) or isinstance(b, GuardedUnion)
                        else self.binary(op, a, b)
                    ),
                ),
            )
        if isinstance(left, Obj) and isinstance(right, Const):
            return left.child(("op", op, right))
        if op in ("*", "+", "&", "|") and isinstance(right, Obj) and isinstance(left, Const) and not self.is_text(left):
            return right.child(("op", op, left))
        result = number_made_of(self, "arithmetic", left, right)
        result.atom.per_rank = any(map(owning.of_rank, (left, right)))
        result.atom.shared = all(self.per_rank(part) is False for part in (left, right))
        result.atom.agreed = result.atom.shared and any(
            isinstance(part, Obj) and part.atom.agreed for part in (left, right)
        )
        result.atom.operands, result.atom.operator = (left, right), op
        orders.combined(self, op, left, right, result)
        if isinstance(left, Obj):
            result.atom.left_of = (op, left)
        return result

    def is_text(self, value: Value) -> bool:
        return isinstance(value, Text) or isinstance(value, Const) and isinstance(value.value, str)

    def constant(self, op: str, left: Any, right: Any) -> Value:
        numbers = (
            isinstance(left, (int, float)) and isinstance(right, (int, float)) and abs(left) < 1e15 and abs(right) < 1e9
        )
        if op in ("**", "<<") and not (numbers and abs(right) < 64):
            return some_number("arithmetic")
        if not numbers and not (
            isinstance(left, str) and isinstance(right, str) and op == "+" and len(left) < BUDGET.text
        ):
            return Text(False) if isinstance(left, str) else some_number("arithmetic")
        try:
            return Const(_ARITHMETIC[op](left, right))
        except Exception:
            return some_number("arithmetic")


def tuple_size(value: Value) -> int:
    return sum(map(tuple_size, value.items)) if isinstance(value, TupleV) else 1
