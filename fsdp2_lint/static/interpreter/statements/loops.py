"""Loops: once per known element, one round standing for any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import options
from ...domain.formulas import Formula, is_fork
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.says import Says
from ...domain.store import Entries, Items, Key
from ...domain.values import (
    BELOW_ANYHOW,
    AbstractObject,
    ClassV,
    Const,
    DictV,
    ListV,
    Obj,
    ParamV,
    StateDict,
    StateTensor,
    TupleV,
    Value,
    unknown,
)
from ..expressions.domains import added_where
from ..frames import BREAK, CONTINUE, FALL, RAISE, RETURN, Rounds
from ..machine import L
from ..syntax import changed_in, ends_early, grown_in, jumps_out, sets_items, unwraps
from .indices import counted_out
from .patterns import Patterns


def rounds_of(element: Value) -> int | None:
    """How often the body runs for what a loop goes through."""
    return element.atom.rounds if isinstance(element, Obj) else None


def stands_for_rounds(element: Value) -> bool:
    """Is this the index of a loop over a range, of which one round is run for all?"""
    return isinstance(element, Obj) and element.atom.origin == "range" and rounds_of(element) != 1


class Loops(Patterns[L]):
    def exec_For(self, node: nodes.For) -> int:
        """A round for each element that is known, or one that stands for all."""
        iterable = counted_out(self, node, self.eval(node.iter))
        widened = self.widen(node)
        self.loops += 1
        start, mark, began = self.guard, self.store.mark(), self.steps
        ways = 0
        known, ended = self.all_known(iterable), False
        for guard, element in self.elements(iterable, node.iter):
            if not self.guard.compatible(guard):
                continue
            flow = self.visit_if(guard, node, element)
            ways |= flow
            self.leave_loop(start, ended=CONTINUE, passed=known and not ways & (BREAK | CONTINUE))
            if not flow & (FALL | CONTINUE):
                ended = known and guard is TRUE and not ways & BREAK
                break
        if not known and ways & (FALL | CONTINUE):
            with self.repeated(None, many=True):
                ways |= self.later_round(node, mark, began)
        self.loops -= 1
        self.leave_loop(start, passed=known and not ways & (BREAK | CONTINUE))
        self.carried_on(widened)
        self.libraries.loop_ended(node)
        if ended:
            return ways & (RETURN | RAISE)
        if node.orelse:
            ways |= self.exec_block(node.orelse)
        return (ways & (RETURN | RAISE)) | FALL

    exec_AsyncFor = exec_For

    def visit_if(self, guard: PathCondition, node: nodes.For, element: Value) -> int:
        """One round of a loop; an element that a filter may have kept out is visited on one side of a branch."""

        def visit() -> int:
            self.assign(node.target, element)
            rounds = None if jumps_out(node) else rounds_of(element)
            visits = None if ends_early(node) else element
            with self.repeated(rounds, many=stands_for_rounds(element), visits=visits):
                return self.exec_block(node.body)

        return self.either_way(guard.formula, visit, [], jumps_out(node))

    @contextmanager
    def repeated(self, rounds: int | None, *, many: bool, visits: Value | None = None) -> Iterator[None]:
        """One round stands for so many; None where that is not known."""
        self.rounds.append(Rounds(self.frame.id, rounds, many, AbstractObject.made, self.fresh(), visits))
        try:
            yield
        finally:
            self.rounds.pop()

    def made_often(self, value: Value, born: int | None = None) -> None:
        """An object that a round of a loop makes and keeps is one of as many as there are rounds."""
        now = self.rounds[-1] if self.rounds else None
        if now is None or now.number is None or now.frame != self.frame.id:
            return
        if isinstance(value, Obj) and value.parent is None and value.atom.id > (now.atoms if born is None else born):
            value.atom.times = now.number if value.atom.times is None else value.atom.times

    def made_in_this_round(self, value: Value) -> bool:
        """Then it is the last of a list that it is the last of in any round: only this round can have put it there."""
        return bool(self.rounds) and isinstance(value, Obj) and value.atom.id > self.rounds[-1].atoms

    def filled_in_rounds(self, held: ListV) -> bool:
        """Is a list filled by a round that stands for others? Then it gets more than is seen."""
        return any(now.many and held.id < now.made for now in self.rounds)

    def all_known(self, iterable: Value) -> bool:
        """Is each round of a loop over this run on its own, so that what holds behind one holds from then on?"""
        options = [leaf for _, leaf in self.alternatives(iterable)]
        held = [self.listing(leaf) if isinstance(leaf, (TupleV, ListV)) else None for leaf in options]
        return all(
            each is not None and (each.exact and not each.open_why or added_where(each) is not None) for each in held
        )

    def leave_loop(self, start: PathCondition, ended: int = BREAK | CONTINUE, *, passed: bool = False) -> None:
        """Behind a loop only returns out of it stay exclusive; its breaks were its own.

        ``passed``: each round was run to its end, so that what the others left by holds not.
        """
        if passed:
            return
        kept = start
        for formula, truth in self.relative(self.guard, start).literals:
            if is_fork(formula) and not self.fork_kinds.get(formula[1][1], 0) & ended:
                kept = kept.add(formula, truth) or kept
        self.guard = kept

    def exec_While(self, node: nodes.While) -> int:
        """One round, which stands for all."""
        if unwraps(node):
            return self.exec_unwrapping(node)
        if (flow := self.run_worklist(node)) is not None:
            return flow
        widened = self.widen(node)
        formula = self.condition(node.test)
        if self.guard.decide(formula) is False:
            return self.exec_block(node.orelse)
        start = self.guard
        if (ended := start.add(formula, False)) is not None:
            with self.on_path(ended):
                self.libraries.left(node)
        if self.about_rank(formula):
            self.guard = start.add(formula) or start
        self.loops += 1
        with self.repeated(None, many=True):
            mark, began = self.store.mark(), self.steps
            flow = self.exec_block(node.body)
            if flow & (FALL | CONTINUE):
                flow |= self.later_round(node, mark, began)
                self.asked_again(node, formula)
        self.loops -= 1
        self.leave_worklists(node)
        self.leave_loop(start)
        self.carried_on(widened)
        self.libraries.loop_ended(node)
        if isinstance(node.test, nodes.Const) and not flow & BREAK:
            return flow & (RETURN | RAISE)
        return (flow & (RETURN | RAISE)) | FALL

    def later_round(self, node: nodes.For | nodes.While, mark: int, began: int) -> int:
        """What the first round passed by, since a flag was as it began: what was called since may have set it.

        Numbers that an object began with and that what was called since has set are others for all of the round: that
        is followed once more, unless it took so many steps that the rest of the program would have none.
        """
        affordable = self.steps - began <= (self.max_steps - self.steps) // 2
        if affordable and self.sets_numbers(node, mark):
            return self.exec_block(node.body)
        ways = 0
        for part in node.body:
            before = self.settled.get(part)
            if before is not None and (formula := self.condition(part.test)) is not before:
                ways |= self.decided(part, formula)
        return ways

    def sets_numbers(self, node: nodes.For | nodes.While, mark: int) -> bool:
        """Is a number that an object or a dict began with another one at the end of a round that may read it?"""
        changed = {
            name
            for name, before, now in self.store.changed(mark)
            if isinstance(before, Const) and isinstance(before.value, (int, float)) and now != before
        }
        if not changed or "" in changed:
            return bool(changed)
        read = self.project.relevance.mentioned(self.frame.module, node)
        return read is None or not changed.isdisjoint(read)

    def asked_again(self, node: nodes.While, before: Formula) -> None:
        """The condition of a loop as it stands after a round, where that may end it in another way than at first."""
        if any(True for _ in node.test.nodes_of_class(nodes.NamedExpr)):
            return  # it does something besides
        formula = self.condition(node.test)
        if formula != before and (ended := self.guard.add(formula, False)) is not None:
            with self.on_path(ended):
                self.libraries.left(node)

    def run_worklist(self, node: nodes.While) -> int | None:
        """``while todo: todo.extend(todo.pop().__subclasses__())`` is run round by round, for what never changes.

        None: how many rounds there are, or what is in the list, is not known (any more).
        """
        start, ways = self.guard, 0
        for _ in range(BUDGET.visits):
            lists = [leaf for name in grown_in(node) for _, leaf in self.alternatives(self.lookup(name))]
            if not lists or not all(map(self.holds_only_classes, lists)):
                return None
            going_on = self.condition(node.test)
            if going_on is False:
                return ways & (RETURN | RAISE) | (self.exec_block(node.orelse) if node.orelse else FALL)
            if going_on is not True:
                return None
            self.loops += 1
            with self.repeated(None, many=False):
                flow = self.exec_block(node.body)
            self.loops -= 1
            ways |= flow
            self.leave_loop(start, ended=CONTINUE, passed=not ways & (BREAK | CONTINUE))
            if not flow & (FALL | CONTINUE):
                self.leave_loop(start, passed=not ways & (BREAK | CONTINUE))
                return ways & (RETURN | RAISE) | (FALL if ways & BREAK else 0)
        return None

    def holds_only_classes(self, leaf: Value) -> bool:
        """Is it a list that is known, of classes of the project?"""
        held = self.items(leaf) if isinstance(leaf, ListV) else None
        return held is not None and held.exact and all(isinstance(item, ClassV) for _, item in held.items)

    def exec_unwrapping(self, node: nodes.While) -> int:
        """Few models have more than one or two wrappers around them: each round is run for those that have one."""
        for _ in range(BUDGET.wrappers):
            formula = self.condition(node.test)
            if self.guard.decide(formula) is False:
                break
            self.either_way(formula, node.body, [], jumps=False)
        return FALL

    def widen(self, node: nodes.For | nodes.While) -> list[tuple[Obj, Key, Value]]:
        """Constants that the body changes are not constant while it runs: the body stands for any round.

        What stands for each meanwhile, where it is kept, and what it was before.
        """
        widened: list[tuple[Obj, Key, Value]] = []
        for target in changed_in(node):
            if isinstance(target, nodes.AssignName):
                key = self.scope_of(target.name), target.name
                before = self.store.get(key)
                if isinstance(before, Const):
                    counted = unknown(target.name)
                    counted.atom.said_by = Says.SOURCE
                    self.bind_local(target.name, counted)
                    widened.append((counted, key, before))
            elif isinstance(target.expr, nodes.Name):
                for _, owner in self.alternatives(self.eval(target.expr)):
                    before = self.store.get(field := (owner, target.attrname))
                    if isinstance(owner, Obj) and isinstance(before, Const):
                        self.store.put(field, owner.child(target.attrname))
                        widened.append((owner.child(target.attrname), field, before))
        self.widen_worklists(node)
        self.libraries.loop_begins(node)
        return widened

    def carried_on(self, widened: list[tuple[Obj, Key, Value]]) -> None:
        """In any round there is what was there before the loop, or what a round leaves."""
        for meanwhile, key, before in widened:
            self.carried[meanwhile] = (*self.carried.get(meanwhile, ()), before, self.store.get(key, before))

    def widen_worklists(self, node: nodes.For | nodes.While) -> None:
        """``while stack: module = stack.pop(); stack.extend(module.children())`` comes to each module below."""
        for name in grown_in(node):
            for _, leaf in self.alternatives(self.lookup(name)):
                if isinstance(leaf, ListV):
                    held = self.items(leaf)
                    items = tuple((path, self.some_below(item)) for path, item in held.items)
                    self.store.put(leaf.id, Items(items, False, held.open_why))

    def leave_worklists(self, node: nodes.While) -> None:
        """One round was followed: what others do to the dicts and lists that were put in for them is not known."""
        for name in grown_in(node) if sets_items(node) else ():
            for leaf in self.inside(self.lookup(name)):
                if isinstance(leaf, StateDict):
                    self.libraries.state_left_open(leaf)
                elif isinstance(leaf, DictV):
                    self.open_tensors(leaf)

    def open_tensors(self, held: DictV) -> None:
        why = "a loop may change what it puts in for later rounds"
        rows = self.entries(held).entries
        kept = tuple((key, path, unknown(why) if _is_tensor(item) else item) for key, path, item in rows)
        self.store.put(held.id, Entries(kept, why))

    def some_below(self, value: Value) -> Value:
        if isinstance(value, TupleV):
            return TupleV(tuple(self.some_below(part) for part in value.items))
        return value.child(BELOW_ANYHOW) if isinstance(value, Obj) and value.item != BELOW_ANYHOW else value


def _is_tensor(value: Value) -> bool:
    """Of a model or of its optimizer, on at least one path."""
    return any(isinstance(leaf, (ParamV, StateTensor)) for _, leaf in options(value))
