"""``match``: which case is taken, and what its pattern binds."""

from __future__ import annotations

from collections.abc import Callable

from astroid import nodes

from ...domain.formulas import Formula, both, either
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import SOME, Const, DictV, ListV, Obj, TupleV, Value, unknown
from ..machine import L
from .statements import Statements


class Patterns(Statements[L]):
    def exec_Match(self, node: nodes.Match) -> int:
        subject = self.eval(node.subject)
        number, arm_of = self.fork()
        arms: list[tuple[PathCondition, Callable[[], int] | list[nodes.NodeNG]]] = []
        open_path: PathCondition | None = TRUE
        for arm, case in enumerate(node.cases):
            formula = self.case_taken(subject, case)
            path = open_path.add(formula) if open_path is not None else None
            if path is not None:
                arms.append((path.add(arm_of(arm)) or path, self.case_body(subject, case)))
            open_path = open_path.add(formula, False) if open_path is not None else None
        if open_path is not None:
            arms.append((open_path.add(arm_of(len(node.cases))) or open_path, []))
        return self.exclusive(arms, number)

    def case_taken(self, subject: Value, case: nodes.MatchCase) -> Formula:
        formula = self.pattern(subject, case.pattern)
        return formula if case.guard is None else both([formula, self.condition(case.guard)])

    def case_body(self, subject: Value, case: nodes.MatchCase) -> Callable[[], int]:
        """Other cases may bind the same names: each binds its own again where its body runs."""

        def run() -> int:
            self.pattern(subject, case.pattern)
            return self.exec_block(case.body)

        return run

    def pattern(self, subject: Value, pattern: nodes.Pattern) -> Formula:
        """When a pattern matches; its names are bound to their parts of the subject."""
        method = getattr(self, f"pattern_{type(pattern).__name__}", None)
        if method is not None:
            return method(subject, pattern)
        self.havoc(pattern, subject)
        return self.some_pattern()

    def some_pattern(self) -> Formula:
        return ("truth", ("pattern", self.fresh()))

    def bind_part(self, target: nodes.AssignName | None, value: Value) -> None:
        if target is not None:
            self.assign(target, value)

    def pattern_MatchValue(self, subject: Value, pattern: nodes.MatchValue) -> Formula:
        return self.equal(subject, self.eval(pattern.value))

    def pattern_MatchSingleton(self, subject: Value, pattern: nodes.MatchSingleton) -> Formula:
        return self.equal(subject, Const(pattern.value))

    def pattern_MatchOr(self, subject: Value, pattern: nodes.MatchOr) -> Formula:
        return either([self.pattern(subject, part) for part in pattern.patterns])

    def pattern_MatchAs(self, subject: Value, pattern: nodes.MatchAs) -> Formula:
        self.bind_part(pattern.name, subject)
        return True if pattern.pattern is None else self.pattern(subject, pattern.pattern)

    def pattern_MatchStar(self, subject: Value, pattern: nodes.MatchStar) -> Formula:
        self.bind_part(pattern.name, subject)
        return True

    def pattern_MatchSequence(self, subject: Value, pattern: nodes.MatchSequence) -> Formula:
        wanted = pattern.patterns
        at = next((at for at, part in enumerate(wanted) if isinstance(part, nodes.MatchStar)), len(wanted))
        length = self.known_length(subject)
        fits = self.some_pattern() if length is None else length >= len(wanted) - (at < len(wanted))
        if length is not None and at == len(wanted):
            fits = length == len(wanted)
        parts = [self.part_at(subject, position, at, len(wanted), length) for position in range(len(wanted))]
        return both([fits, *(self.pattern(part, each) for part, each in zip(parts, wanted))])

    def known_length(self, subject: Value) -> int | None:
        """How many elements there surely are."""
        if not isinstance(subject, (TupleV, ListV)):
            return None
        held = self.listing(subject)
        whole = held.exact and not held.open_why and all(path is TRUE for path, _ in held.items)
        return len(held.items) if whole else None

    def part_at(self, subject: Value, position: int, star: int, wanted: int, length: int | None) -> Value:
        """The element that stands at a place of a sequence pattern, of which ``star`` takes all that are left over."""
        if position == star:
            rest = slice(star, length - (wanted - star - 1)) if length is not None else slice(None)
            return self.new_list([item for _, item in self.listing(subject).items][rest], exact=length is not None)
        if position > star and length is None:
            return subject.child(SOME) if isinstance(subject, Obj) else unknown("an element", kind="opaque")
        at = position if position < star else (length or 0) - (wanted - position)
        return self.unpacked(subject, at, wanted, starred=False)

    def pattern_MatchMapping(self, subject: Value, pattern: nodes.MatchMapping) -> Formula:
        taken = []
        for key_node, part in zip(pattern.keys, pattern.patterns):
            key = self.eval(key_node)
            taken += [self.contained(key, subject), self.pattern(self.item_at(subject, key, pattern), part)]
        self.bind_part(pattern.rest, subject)
        return both([self.some_pattern() if not isinstance(subject, DictV) else True, *taken])

    def item_at(self, subject: Value, key: Value, node: nodes.NodeNG) -> Value:
        return self.over(subject, lambda leaf: self.get_item(leaf, key, node))

    def pattern_MatchClass(self, subject: Value, pattern: nodes.MatchClass) -> Formula:
        classes = [leaf for _, leaf in self.alternatives(self.eval(pattern.cls))]
        known = isinstance(subject, Obj)
        taken = [self.libraries.of_classes(subject, classes)]
        for part in pattern.patterns:  # which attributes they mean is up to the class
            inner = subject.child(SOME) if isinstance(subject, Obj) else unknown("a part", kind="opaque")
            taken += [self.pattern(inner, part), self.some_pattern()]
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns):
            field = self.get_attr(subject, name, pattern) if known else unknown(name, kind="opaque")
            taken.append(self.pattern(field, part))
        return both(taken)
