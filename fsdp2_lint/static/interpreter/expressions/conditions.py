"""Conditions become formulas: what is decided, what is a rank, what is symbolic."""

from __future__ import annotations

from typing import Any

from astroid import nodes

from ...budget import BUDGET
from ...domain.formulas import LARGE, Formula, Interned, atoms, both, either, intern, is_large, negate
from ...domain.store import KNOWN_KEYS
from ...domain.thresholds import MIRRORED, is_number
from ...domain.values import (
    BELOW,
    Bound,
    ClassV,
    Cond,
    Const,
    DictV,
    Ext,
    Func,
    GuardedUnion,
    ListV,
    Loaded,
    ModRef,
    Obj,
    Partial,
    Rank,
    StateDict,
    Text,
    TupleV,
    Value,
    taken_out,
)
from ...frontend.packages import is_known_class, is_listed, is_of_python
from ..machine import L
from . import domains, flags, own_values
from .expressions import Expressions

_COMPARE: dict[str, Any] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


_POSITIVE = {(">", 0): True, (">=", 1): True, (">=", 0): True, ("<", 1): False, ("<=", 0): False, ("<", 0): False}
RANK_VARIABLES = frozenset(Const(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"))


class Conditions(Expressions[L]):
    def condition(self, node: nodes.NodeNG) -> Formula:
        return intern(self.formula_of(node))

    def formula_of(self, node: nodes.NodeNG) -> Formula:
        """An expression as a condition, with its short circuits."""
        if isinstance(node, nodes.BoolOp):
            return self.short_circuit(node)
        if isinstance(node, nodes.UnaryOp) and node.op == "not":
            return negate(self.condition(node.operand))
        if isinstance(node, nodes.Compare):
            left = self.eval(node.left)
            parts = []
            for op, right_node in node.ops:
                right = self.eval(right_node)
                if op not in ("is", "is not"):
                    self.libraries.operated(node, op, left, right)
                parts.append(self.compared(op, left, right))
                left = right
            return both(parts)
        value = self.eval(node)
        self.libraries.tested(value, node)
        return self.truth(value)

    def short_circuit(self, node: nodes.BoolOp) -> Formula:
        parts: list[Formula] = []
        start = self.guard
        for operand in node.values:
            formula = self.condition(operand)
            parts.append(formula)
            narrowed = self.guard.add(formula, node.op == "and")
            if narrowed is None:
                break
            self.guard = narrowed
        self.guard = start
        return both(parts) if node.op == "and" else either(parts)

    def condition_of_parts(self, op: str, values: list[Value]) -> Formula:
        parts = [self.truth(value) for value in values]
        return both(parts) if op == "and" else either(parts)

    def truth(self, value: Value) -> Formula:
        """``bool(value)``; a question about it where that is not known."""
        if isinstance(value, Const):
            return bool(value.value)
        if isinstance(value, Cond):
            return value.formula
        if isinstance(value, Rank):
            return negate(("is", value, 0))
        if isinstance(value, GuardedUnion):
            return self.spread(value, self.truth)
        if isinstance(value, TupleV):
            return bool(value.items)
        if isinstance(value, ListV):
            held = self.items(value)
            if not held.open_why and (held.exact or not held.items):
                return bool(held.items)
            added = domains.added_where(held)
            return ("truth", value) if added is None else added
        if isinstance(value, DictV):
            entries = self.entries(value)
            paths = [path for key, path, _ in entries.entries if isinstance(key, Const)]
            closed = not entries.open_why and len(paths) == len(entries.entries)
            return either([path.formula for path in paths]) if closed else ("truth", value)
        if isinstance(value, Ext):  # of a package that is not known it may be a number or None
            own = value.qname.rsplit(".", 1)[-1]
            return ("truth", value) if own.isupper() or not self.libraries.harmless(value.qname) else True
        if isinstance(value, (Func, Bound, ClassV, Partial, ModRef)):
            return True
        if isinstance(value, Obj) and value.parent is None:
            if value.atom.kind in ("instance", "external") or value.atom.positive:
                return True
        if isinstance(value, StateDict) and value.rank0:
            return ("is", Rank("global"), 0)  # the others have an empty dict
        if isinstance(value, (StateDict, Loaded)):
            return True
        if (bits := flags.masked(value)) is not None:
            return flags.any_set(*bits)
        if (known := domains.truth(self, value)) is not None:
            return known
        return ("truth", (LARGE, value) if self.filters_unseen(value) else value)

    def filters_unseen(self, value: Value) -> bool:
        """Did code that is not seen answer, in a loop, for one of many modules? Which of them pass is open."""
        if not (self.loops and isinstance(value, Obj) and value.atom.kind == "opaque"):
            return False
        return any(map(self.libraries.matters_whole, self.libraries.changeable(value.atom.keeps)))

    def spread(self, value: GuardedUnion, ask: Any) -> Formula:
        """A formula about each option, under the path on which it is the one.

        One of the options it is, so what is asked fails on the paths of those of which it fails: that may be few.
        """
        answers = [(self.guard.beyond(guard), ask(leaf)) for guard, leaf in self.alternatives(value)]
        if answers and all(isinstance(answer, bool) and answer is answers[0][1] for _, answer in answers):
            return bool(answers[0][1])
        found = either([both(answer) for answer in answers])
        if not is_large(found):
            return found
        return negate(either([both([path, negate(answer)]) for path, answer in answers]))

    def compared(self, op: str, left: Value, right: Value) -> Formula:
        if op in ("is not", "!="):
            return negate(self.compared("is" if op == "is not" else "==", left, right))
        if op == "is":
            return self.identical(left, right)
        if op == "==":
            return self.equal(left, right)
        if op in ("in", "not in"):
            formula = self.contained(left, right)
            return formula if op == "in" else negate(formula)
        return self.ordered(op, left, right)

    def identical(self, left: Value, right: Value) -> Formula:
        """``left is right``: what two calls have made are two objects, whether or not they are equal."""
        if isinstance(left, GuardedUnion):
            return self.spread(left, lambda leaf: self.identical(leaf, right))
        if isinstance(right, GuardedUnion):
            return self.spread(right, lambda leaf: self.identical(left, leaf))
        if isinstance(left, Obj) and isinstance(right, Obj) and left.atom is not right.atom:
            if all(each.parent is None and _is_made(each) for each in (left, right)):
                return False
        return self.equal(left, right)

    def equal(self, left: Value, right: Value) -> Formula:
        """``left == right``; a question about both where neither is a constant."""
        if isinstance(left, GuardedUnion):
            return self.spread(left, lambda leaf: self.equal(leaf, right))
        if isinstance(right, GuardedUnion):
            return self.spread(right, lambda leaf: self.equal(left, leaf))
        if isinstance(left, Const) and isinstance(right, Const):
            return bool(left.value == right.value)
        if isinstance(left, Const):
            left, right = right, left
        if isinstance(right, Const):
            if isinstance(left, Rank) and isinstance(right.value, str) and right.value.isdigit():
                right = Const(int(right.value))  # environment variables are strings
            if isinstance(left, Rank) and str(right.value).startswith("-"):
                return False  # -1 stands for a process that nobody launched
            if isinstance(left, Cond) and isinstance(right.value, bool):
                return left.formula if right.value else negate(left.formula)
            if (asked := flags.masked_equals(left, right.value)) is not None:
                return asked
            if right.value == 0 and isinstance(left, Obj) and left.atom.positive:
                return False
            if right.value in (1, "1") and isinstance(left, Obj) and left.parent is None and left.atom.counts:
                return negate(("compared", left, ">", 1))
            if right.value is None and not isinstance(left, Obj):
                return False if not isinstance(left, (Cond, Text)) else ("is", left, None)
            if right.value is None and isinstance(left, Obj):
                if self.surely_object(left) or self.libraries.never_none(left):
                    return False
            if isinstance(left, Obj) and (asked := self.libraries.type_is_named(left, right.value)) is not None:
                return asked
            if self.filters_unseen(left):
                return ("truth", (LARGE, "equal", left, right))
            return domains.equals(self, left, right.value)
        if left == right and not isinstance(left, Text):
            return True
        if isinstance(left, Rank) or isinstance(right, Rank):
            rank, other = (left, right) if isinstance(left, Rank) else (right, left)
            return ("is", rank, other)
        if _is_code(left) and _is_code(right):
            return False
        if domains.is_flag(self, left) and domains.is_flag(self, right):
            mine, other = self.truth(left), self.truth(right)
            return either([both([mine, other]), both([negate(mine), negate(other)])])
        return ("truth", ("equal", left, right))

    def surely_object(self, obj: Obj) -> bool:
        """An instance, also of another package's class: calling ``DataLoader(...)`` never gives None."""
        if obj.parent is not None:
            return False
        made = obj.atom.site is not None and is_known_class(obj.atom.origin)
        return made or obj.atom.kind in ("instance", "external")

    def contained(self, left: Value, right: Value) -> Formula:
        """``left in right``; a question about both where not all elements are known."""
        if isinstance(right, GuardedUnion) and isinstance(left, Const):
            return self.spread(right, lambda leaf: self.contained(left, leaf))
        if isinstance(right, (TupleV, ListV)):
            held = self.listing(right)
            if not held.open_why and len(held.items) <= BUDGET.contained and (held.exact or not held.items):
                return either([both([path.formula, self.equal(left, item)]) for path, item in held.items])
            if len(held.items) <= BUDGET.contained and domains.added_where(held) is not None:
                return either([both([path.formula, self.equal(left, item)]) for path, item in held.items])
        if isinstance(left, GuardedUnion) and isinstance(right, (DictV, Obj)):
            return self.spread(left, lambda leaf: self.contained(leaf, right))
        if isinstance(right, DictV) and isinstance(left, (*KNOWN_KEYS, Obj)):
            entries = self.entries(right)
            if not entries.open_why and all(isinstance(key, KNOWN_KEYS) for key, _, _ in entries.entries):
                if isinstance(left, Obj):
                    return either([both([path.formula, self.equal(left, key)]) for key, path, _ in entries.entries])
                found = [path for key, path, _ in entries.entries if key == left]
                return either([path.formula for path in found]) if found else False
        if (
            isinstance(left, Const)
            and isinstance(left.value, flags.Bits)
            and isinstance(right, (Const, Obj, GuardedUnion))
        ):
            return self.has_bits(right, int(left.value))
        if isinstance(right, Obj) and isinstance(left, Const) and self.store.get((right, taken_out(left))) is not None:
            return False
        if right == Ext("os.environ") and left in RANK_VARIABLES:
            return True  # the program runs under torchrun, or nothing here matters
        if (
            isinstance(left, Const)
            and isinstance(right, Const)
            and isinstance(right.value, str)
            and isinstance(left.value, str)
        ):
            return left.value in right.value
        if (spelled := domains.spelled_out(self, right)) is not right:
            return self.contained(left, spelled)
        of_each = (
            isinstance(left, Text) or isinstance(left, Obj) and any(str(item).startswith(BELOW) for item in left.path)
        )
        if isinstance(right, (ListV, GuardedUnion)) or of_each:  # a filter by unknown names: which modules pass is open
            return ("truth", (LARGE, "in", left, right))
        return domains.part_asked(left, right)

    def has_bits(self, value: Value, bits: int) -> Formula:
        """``Kind.MEMBER in value``"""
        if isinstance(value, GuardedUnion):
            return self.spread(value, lambda leaf: self.has_bits(leaf, bits))
        if isinstance(value, Const) and isinstance(value.value, int):
            return int(value.value) & bits == bits
        if isinstance(value, Obj) and bits > 0:
            return flags.all_set(value, bits)
        return ("truth", (LARGE, "in", Const(bits), value))

    def ordered(self, op: str, left: Value, right: Value) -> Formula:
        """``<`` and its kin; decided for numbers, by ranges for unknowns."""
        if isinstance(left, Const) and is_number(left.value) and not isinstance(right, Const):
            left, op, right = right, MIRRORED[op], left
        if isinstance(left, GuardedUnion):
            return self.spread(left, lambda leaf: self.ordered(op, leaf, right))
        if isinstance(left, Const) and isinstance(right, Const):
            try:
                return bool(_COMPARE[op](left.value, right.value))
            except (TypeError, KeyError):
                return ("truth", ("compare", op, left, right))
        if isinstance(left, Obj) and left.atom.positive and isinstance(right, Const):
            if (op, right.value) in _POSITIVE:
                return _POSITIVE[op, right.value]
        if isinstance(left, Rank) and isinstance(right, Const):
            if (op, right.value) in ((">", 0), (">=", 1)):
                return negate(("is", left, 0))
            if (op, right.value) in (("<", 1), ("<=", 0)):
                return ("is", left, 0)
        if isinstance(right, Const) and is_number(right.value):
            whole = isinstance(left, Obj) and left.parent is None and left.atom.counts and isinstance(right.value, int)
            limit = right.value - 1 if whole and op in (">=", "<") else right.value
            above = ("compared", left, ">" if whole or op in (">", "<=") else ">=", limit)
            return above if op in (">", ">=") else negate(above)
        return ("truth", ("compare", op, left, right))

    def about_rank(self, formula: Formula) -> bool:
        return any(mentions_rank(atom) for atom in atoms(formula))

    def asks_rank(self, formula: Formula, test: nodes.NodeNG) -> None:
        """Remember where ranks part, if both answers can be."""
        if self.about_rank(formula) and None not in (self.guard.add(formula), self.guard.add(formula, False)):
            parts = formula[1] if isinstance(formula, tuple) and formula[0] == "and" else (formula,)
            for asked in (*atoms(formula), *parts):
                self.rank_sites[asked] = self.moment(test)
        elif self.owned:
            for atom in atoms(formula):
                if own_values.asked_for(self, atom) is not None:
                    self.own_sites[atom] = self.moment(test)


def mentions_rank(atom: Any) -> bool:
    """Does a leaf of a formula speak of a rank?"""
    if isinstance(atom, Rank):
        return True
    if isinstance(atom, Interned):
        if atom.of_rank is None:
            atom.of_rank = any(map(mentions_rank, atom))
        return atom.of_rank
    return isinstance(atom, tuple) and any(map(mentions_rank, atom))


def _is_code(value: Value) -> bool:
    """A function or a class: of a package that nobody knows, a name may as well stand for a number."""
    if isinstance(value, Ext):
        return is_listed(value.qname) or is_of_python(value.qname)
    return isinstance(value, (Func, ClassV))


def _is_made(obj: Obj) -> bool:
    """Does each call of its class make an object of its own?"""
    return obj.atom.kind in ("instance", "external") and obj.atom.site is not None
