"""Statements: branches run apart and are joined, loops run once per known element."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import unmarked
from ...domain.formulas import Formula, atoms, both, either, is_fork, negate
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.sides import merged, two_sides
from ...domain.values import NONE, AbstractObject, Ext, Value, unknown
from ..calls import class_tables
from ..frames import BREAK, CONTINUE, FALL, RAISE, RETURN, Diverges, Frame, Handled
from ..machine import L
from ..syntax import catches_all, checks, jumps_out
from .flags import set_behind
from .targets import Targets

if TYPE_CHECKING:
    Body = list[nodes.NodeNG] | Callable[[], int]


class Statements(Targets[L]):
    def exec_block(self, body: list[nodes.NodeNG]) -> int:
        """Run statements in order; which ways out there are, as a mask."""
        ways = 0
        behind: list[tuple[int, int, PathCondition, PathCondition]] = []  # ways out that some paths took
        for node in body:
            self.tick()
            start = self.guard
            try:
                flow = self.exec(node)
            except Diverges:
                flow = RAISE
            ways |= flow & ~FALL
            if not flow & FALL:
                break
            if flow & (RETURN | BREAK | CONTINUE) and self.guard is not start:
                behind.append((self.store.mark(), AbstractObject.made, start, self.guard))
        else:
            ways |= FALL
        for mark, born, start, went_on in reversed(behind):
            set_behind(self, mark, born, self.relative(went_on, start))
        return ways

    def exec(self, node: nodes.NodeNG) -> int:
        method = getattr(self, f"exec_{type(node).__name__}", None)
        return method(node) if method else self.skipped(node)

    def exec_Pass(self, node: nodes.NodeNG) -> int:
        return FALL

    exec_Global = exec_Nonlocal = exec_Pass  # read off the whole function: see ``outer_names``

    def exec_TypeAlias(self, node: nodes.TypeAlias) -> int:
        self.bind_local(node.name.name, unknown("a type"))
        return FALL

    def exec_Expr(self, node: nodes.Expr) -> int:
        self.statement_value(node, self.eval(node.value))
        return FALL

    def exec_Assign(self, node: nodes.Assign) -> int:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target, value)
        return FALL

    def exec_AnnAssign(self, node: nodes.AnnAssign) -> int:
        if node.value is not None:
            value = self.eval(node.value)
            self.declare(value, self.frame.module, node.annotation)
            self.assign(node.target, value)
        return FALL

    def exec_AugAssign(self, node: nodes.AugAssign) -> int:
        self.augment(node)
        return FALL

    def exec_Delete(self, node: nodes.Delete) -> int:
        for target in node.targets:
            self.delete(target)
        return FALL

    def exec_Return(self, node: nodes.Return) -> int:
        value = self.eval(node.value) if node.value else NONE
        self.frame.returns.append((self.guard, value))
        self.libraries.left(node)
        return RETURN

    def exec_Raise(self, node: nodes.Raise) -> int:
        if node.exc is not None:
            self.quiet_exits += self.eval(node.exc) == Ext("builtins.SystemExit")  # without a code: all is well
        self.stops += len(self.frames) != self.handling  # what a handler raises itself is one of its ways out
        return RAISE

    def exec_Break(self, node: nodes.Break) -> int:
        self.libraries.left(node)
        return BREAK

    def exec_Continue(self, node: nodes.Continue) -> int:
        return CONTINUE

    def exec_Assert(self, node: nodes.Assert) -> int:
        formula = self.condition(node.test)
        if formula is False:
            self.stops += 1
            return RAISE
        self.guard = self.checked_path(self.guard, self.guard.add(formula))
        return FALL

    def checked_path(self, start: PathCondition, narrowed: PathCondition | None) -> PathCondition:
        """Behind a check the program goes on one way only: what it asked is no choice between two."""
        found = self.assumed(start, narrowed)
        known = len(start.literals)
        self.refused.update(found.literals[: known + more + 1] for more in range(len(found.literals) - known))
        return found

    def checked(self, frame: Frame) -> list[Formula]:
        """What holds on every way out of a call that does not raise: its asserts, and what it refuses.

        First what all ways have in common; then that one of them was taken, where that is short: a method that
        returns at once without sharding and else refuses a setting says that the two never meet. Where only what it
        calls refuses something, that has said so itself.
        """
        ways = list(dict.fromkeys(self.relative(way, frame.guard).unforked for way, _ in frame.returns))
        if not ways:
            return []
        shared = frozenset(ways[0].literals).intersection(*(way.literal_set for way in ways))
        found = [part if truth else negate(part) for part, truth in ways[0].literals if (part, truth) in shared]
        found = found if len(found) <= BUDGET.checked else []
        one_of = either([way.formula for way in merged([way.without_literals(shared) for way in ways])])
        own = frame.func is not None and checks(frame.func.node)
        short = own and one_of is not True and len(list(atoms(one_of))) <= BUDGET.ways
        return [*found, one_of] if short and not self.about_rank(one_of) else found  # all ranks go on behind the call

    def assumed(self, start: PathCondition, narrowed: PathCondition | None) -> PathCondition:
        """What holds behind a check that else raises; a condition too large to compare is not worth to keep."""
        return start if narrowed is None or narrowed.blurred - start.blurred else narrowed

    def exec_If(self, node: nodes.If) -> int:
        return self.decided(node, self.condition(node.test))

    def decided(self, node: nodes.If, formula: Formula) -> int:
        if isinstance(formula, bool):
            self.settled[node] = formula
        else:
            self.settled.pop(node, None)
        self.asks_rank(formula, node.test)
        return self.either_way(formula, node.body, node.orelse, jumps_out(node))

    def either_way(self, formula: Formula, body: Body, orelse: Body, jumps: bool) -> int:
        start = self.guard
        yes, no = start.add(formula), start.add(formula, False)
        if yes is None or no is None:
            self.guard = yes or no or start
            return self.run_body(body if yes is not None else orelse)
        paths = [TRUE.add(formula) or TRUE, TRUE.add(formula, False) or TRUE]
        number = 0
        if jumps:
            number, arm_of = self.fork()
            paths = [path.add(arm_of(arm)) or path for arm, path in enumerate(paths)]
        two_sides(*paths)
        return self.exclusive(list(zip(paths, (body, orelse))), number)

    def run_body(self, body: Body) -> int:
        return body() if callable(body) else self.exec_block(body)

    def exclusive(self, arms: Iterable[tuple[PathCondition, Body]], fork: int = 0) -> int:
        """Run arms that exclude each other from the same state, and join them.

        Where an arm leaves the block, what follows is marked as the other side of the
        fork, so that nested early returns stay exclusive with the code behind them.
        """
        start, born = self.guard, AbstractObject.made
        written, ends = [], []
        ways, left = 0, self.quiet_exits
        for path, body in arms:
            joined = start.join(path)
            if joined is None:
                continue
            self.guard = joined
            mark = self.store.mark()
            flow = self.run_body(body)
            written.append((path, self.store.undo(mark, self.frame.id)))
            ways |= flow
            ends.append((flow, joined, self.guard, path))
        self.guard = start
        whole = all(flow & FALL for flow, *_ in ends)  # no mark is needed to keep early ends apart
        self.store.join(unmarked(written, fork - 1) if whole else written, lambda key: self.derive(key, born))
        falling = [(joined, end) for flow, joined, end, _ in ends if flow & FALL]
        if fork:
            self.fork_kinds[fork] = 0
            for flow, *_ in ends:
                if not flow & FALL:
                    self.fork_kinds[fork] |= flow
        if len(falling) == 1 and len(ends) > 1:
            only_raises = all(flow == RAISE for flow, *_ in ends if not flow & FALL)
            goes_on = self.assumed if left != self.quiet_exits else self.checked_path
            self.guard = goes_on(start, falling[0][1]) if only_raises else falling[0][1]
        else:
            for joined, end in falling:
                for formula, truth in self.relative(end, joined).literals:
                    if is_fork(formula):
                        self.guard = self.guard.add(formula, truth) or self.guard
            for flow, joined, end, path in ends:
                if flow & FALL:
                    self.learn(path, self.relative(end, joined), end)
        return ways

    def learn(self, path: PathCondition, learned: PathCondition, end: PathCondition) -> None:
        """What an arm checked by ``assert`` holds behind the branch wherever the arm was taken. ``end``: of the arm."""
        facts = [part if truth else negate(part) for part, truth in learned.literals if not is_fork(part)]
        if not facts or len(learned.literals) > BUDGET.learned:
            return
        asked = [part if truth else negate(part) for part, truth in path.literals if not is_fork(part)]
        if not asked:
            return  # such as the body of a ``try``, which a handler may have come out of before the check
        taken = both(asked)
        fact = either([negate(taken), both(facts)])
        if len(list(atoms(fact))) <= BUDGET.learned:
            goes_on = self.checked_path if self._only_checked(learned, end) else self.assumed
            self.guard = goes_on(self.guard, self.guard.add(fact))

    def _only_checked(self, learned: PathCondition, end: PathCondition) -> bool:
        """Does the program go on in no other way than with what was learned on the path to the end of an arm?"""
        path = end.literals
        return all(path[: at + 1] in self.refused for at, part in enumerate(path) if part in learned.literal_set)

    def exec_Try(self, node: nodes.Try) -> int:
        handlers = [] if self.libraries.only_for_older(node) else node.handlers
        body = [*node.body, *node.orelse]
        flow = self.attempt(body, handlers) if handlers else self.exec_block(body)
        if node.finalbody:
            last = self.exec_block(node.finalbody)
            flow = flow | (last & ~FALL) if last & FALL else last  # behind it goes on what the body was at
        return flow

    exec_TryStar = exec_Try

    def attempt(self, body: list[nodes.NodeNG], handlers: list[nodes.ExceptHandler]) -> int:
        """The body, or one of its handlers, which know something of what the body asked before it failed."""
        number, arm_of = self.fork()
        self.tries.add(number)
        before = len(self.libraries.asked_of_dtensors)
        ends = RAISE

        def run_body() -> int:
            nonlocal ends
            ends = self.exec_block(body)
            return ends

        def arms() -> Iterator[tuple[PathCondition, Body]]:
            yield TRUE.add(arm_of(0)) or TRUE, run_body
            asked = self.libraries.asked_of_dtensors[before:]
            for arm, handler in enumerate(handlers, start=1):
                if catches_all(handler) and ends != RAISE:  # else it is no matter of chance
                    self.failures.add(arm_of(arm))
                known = both([arm_of(arm), self.libraries.known_in_handler(handler, asked)])
                yield TRUE.add(known) or TRUE, partial(self.run_handler, handler)

        return self.exclusive(arms(), number)

    def run_handler(self, handler: nodes.ExceptHandler) -> int:
        if handler.name is not None:
            self.assign(handler.name, unknown("exception"))
        before, outer, self.handling = self.stops, self.handling, len(self.frames)
        flow = self.exec_block(handler.body)
        self.handling = outer
        known = self.handled.get(handler, Handled(0, False))
        self.handled[handler] = Handled(known.ways | flow, known.may_stop or self.stops > before)
        return flow

    def exec_With(self, node: nodes.With) -> int:
        return self.enter(list(node.items), node.body)

    exec_AsyncWith = exec_With

    def enter(self, items: list[tuple[nodes.NodeNG, nodes.NodeNG | None]], body: list[nodes.NodeNG]) -> int:
        """Enter context managers one by one; each decides what runs around the rest."""
        if not items:
            return self.exec_block(body)
        (manager, target), rest = items[0], items[1:]

        def inner(value: Value) -> int:
            if target is not None:
                self.assign(target, value)
            return self.enter(rest, body)

        return self.with_manager(manager, inner)

    def exec_FunctionDef(self, node: nodes.FunctionDef) -> int:
        self.bind_local(node.name, self.decorated(node, self.function_value(node)))
        return FALL

    exec_AsyncFunctionDef = exec_FunctionDef

    def exec_ClassDef(self, node: nodes.ClassDef) -> int:
        cls = self.class_value(node)
        self.bind_local(node.name, cls)
        self.decorated(node, cls)  # for what it fills, such as a table; what makes a class anew is asked elsewhere
        if node.bases and self.project.mentions("__init_subclass__"):
            class_tables.tell(self, cls)
        return FALL

    def exec_Import(self, node: nodes.Import) -> int:
        for name, alias in node.names:
            self.bind_local(alias or name.split(".")[0], self.import_module(self.frame.module, name, bool(alias)))
        return FALL

    def exec_ImportFrom(self, node: nodes.ImportFrom) -> int:
        for name, alias in node.names:
            if name != "*":
                value = self.import_name(self.frame.module, node, name)
                self.bind_local(alias or name, value)
        return FALL
