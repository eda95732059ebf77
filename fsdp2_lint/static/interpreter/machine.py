"""What every part of the interpreter stands on: state, paths, branches, budget, the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from astroid import nodes

from ...vocab.finding import Moment, Site
from ..budget import BUDGET
from ..domain.choices import choose, options
from ..domain.events import AsksRanks, InLoops, Step
from ..domain.formulas import Formula, atoms
from ..domain.path_conditions import TRUE, PathCondition, Pool
from ..domain.store import Entries, Items, Store
from ..domain.trace import E, Trace
from ..domain.values import (
    AbstractObject,
    ClassV,
    DictV,
    Func,
    GuardedUnion,
    ListV,
    Obj,
    Params,
    StateDict,
    TupleV,
    Value,
    unknown,
)
from ..frontend.module import Module
from ..frontend.project import Project
from .frames import CallTooLong, Diverges, Frame, Handled, OutOfBudget, Rounds, Taken
from .libraries import Libraries
from .semantics import Semantics
from .syntax import loops_around

LOOK = 256  # steps between two looks at the clock; events, while they are judged

L = TypeVar("L", bound=Libraries, covariant=True)


class Machine(Semantics, Generic[L]):
    """State of one entry's interpretation."""

    def __init__(
        self,
        project: Project,
        libraries: Callable[[Machine[Any]], L],
        *,
        max_steps: int,
        max_unsharded: int,
        look: Callable[[], None],
    ) -> None:
        self.project = project
        self.libraries = libraries(self)
        self.store = Store()
        self.trace = Trace()
        self.guard: PathCondition = TRUE
        self.frames: list[Frame] = []
        self.suspended: list[Frame] = []  # context managers whose body runs
        self.unfinished: set[int] = set()  # activations that were cut off
        self.unentered: set[int] = set()  # of generators that are context managers, run whole where they are made
        self.calls: list[tuple[Module, nodes.NodeNG]] = []
        self.closures: dict[int, int] = {}
        self.types: dict[Obj, ClassV] = {}  # declared types of unknown values
        self.domains: dict[Obj, tuple[Any, ...] | None] = {}  # the constants that unknown values are one of
        self.factories: dict[int, Value] = {}  # by the number of a defaultdict: what makes the values of new keys
        self.parents: dict[Obj, tuple[Obj, str]] = {}  # which module a module was stored in first
        self.steps = 0
        self.max_steps = max_steps
        self.max_unsharded = max_unsharded
        self.call_limit: int | None = None  # the step at which the innermost call that has a bound ends
        self.spent: dict[nodes.NodeNG, int] = {}  # steps in each function, over all its calls and what they call
        self.paths_limit: int | None = None  # likewise, in paths that were put together
        self.paths_spent: dict[nodes.NodeNG, int] = {}
        self.own: dict[nodes.NodeNG, Taken] = {}  # by function
        self.made_before = 0  # literals of paths, when the last step began
        self.look = look  # at the clock: the last resort
        self.reached: dict[nodes.NodeNG, None] = {}  # in order, which a set has not
        self.of_the_machine: dict[str, Value] = {}  # what it has, by the function that was asked
        self.patched: set[str] = set()  # attributes of classes and of other packages that were set
        self.fork_kinds: dict[int, int] = {}
        self.tries: set[int] = set()  # forks between a ``try`` and its handlers
        self.failures: set[Formula] = set()  # which of their arms catch whatever goes wrong
        self.rank_sites: dict[Formula, Moment] = {}  # where a condition on the rank was asked
        self.own_sites: dict[Formula, Moment] = {}  # likewise, on what each rank has for itself
        self.stops = (
            0  # how often something ran that may have ended the program: a raise, an exit, code that is not seen
        )
        self.handling = 0  # how many frames were open where the innermost handler of an exception began
        self.handled: dict[nodes.ExceptHandler, Handled] = {}
        self.context = 0
        self.loops = 0  # how deep in loops, over all active calls
        self.rounds: list[Rounds] = []  # of loops that run, outermost first
        # By list, index and round; and by dict and key.
        self.picks_by_index: dict[tuple[int, Value, int], tuple[Items | Entries, int]] = {}
        self.settled: dict[nodes.NodeNG, bool] = {}  # conditions of ``if`` that were no question when it was last met
        self.filled_under: dict[Value, tuple[Value, ...]] = {}  # by a view of a dict: the keys that are not known
        self.of_parameters: dict[Value, Params] = {}  # a list of one thing for each: empty where a module has none
        self.unordered: dict[
            Value, tuple[Value, ...]
        ] = {}  # sets and what is made of them, and what holds what they hold
        self.owned = False  # was anything met that each rank has for itself?
        self.ended_by: dict[nodes.NodeNG, Any] = {}  # what of a rank's own ends the loops that run
        self.own_packages: dict[str, Any] = {}  # what packages that are not seen were handed of such
        self.own_rounds: dict[nodes.NodeNG, Any] = {}  # by loop: what decides how often it goes round
        self.own_sizes: dict[ListV, Any] = {}  # what decides how much a list holds, beside what it holds
        self.own_arms: dict[tuple[Any, ...], Any] = {}  # of which of several values is taken by such a value
        self.own_answers: dict[Obj, Any] = {}  # what an unseen method returned, or keeps, that was handed such values
        self.lengths: dict[Value, tuple[Items, Obj]] = {}  # of lists with so many elements that nobody knows
        self.carried: dict[Obj, tuple[Value, ...]] = {}  # by what stands for it in a loop: what it was, and becomes
        self.counted_apart: set[str] = set()  # counters that perhaps not all ranks count up
        self._counter = 0
        self.reads = 0
        self.picks: set[str] = set()  # files in which a part is taken out that may be another one on each rank
        self.picking: set[Obj] = set()  # modules in whose forward such a part surely is another one on each rank
        self.memo: dict[Any, tuple[Value, bool, tuple[int, ...], int]] = {}
        self.parameters: dict[Any, Value] = {}
        self.annotations: dict[nodes.NodeNG, Value | None] = {}
        self.refused: set[tuple[tuple[Formula, bool], ...]] = set()  # paths that end in what a check has made sure of
        self.doomed: set[int] = set()  # activations that end the job: with an error, whatever they do before
        self.quiet_exits = 0  # how often a process ended as if all were well
        self.finished: set[nodes.NodeNG] = set()  # functions that ran to their end
        self.whole = False  # is it a script, followed from its first line on?
        self.texts: dict[Any, int] = {}  # the number of what texts are made from
        self.text_parts: list[tuple[str, tuple[Value, ...]]] = []  # the same by number, which begins with 1
        self.module_globals: dict[tuple[Module, str], Value] = {}
        self.resolving: set[tuple[Module, str]] = set()
        self.class_values: dict[Any, Value] = {}
        self.told: set[ClassV] = set()  # classes of which their bases know
        self.unseen_makers: dict[ClassV, str] = {}
        self.wrapped_by: list[str] = []  # decorators around the calls that run, which may not have run them
        self.method_values: dict[Func, Func] = {}
        self.definitions: dict[nodes.NodeNG, Value] = {}  # what functions at the top of files are, behind decorators
        self.mros: dict[tuple[nodes.ClassDef, int], list[Value]] = {}  # by the statement: to hash a class is dear
        self.frame_flow = 0
        self.frame_behind: list[PathCondition] = []

    def fresh(self) -> int:
        self._counter += 1
        return self._counter

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def tick(self) -> None:
        """One step; raises where a bound of this call, of the program or of the clock is reached."""
        self.steps += 1
        if self.steps > self.max_steps:
            self.stop(f"more than {self.max_steps} steps")
        if self.call_limit is not None and self.steps > self.call_limit:
            raise CallTooLong
        if self.paths_limit is not None and Pool.tried > self.paths_limit:
            raise CallTooLong
        frame, made = self.frames[-1], Pool.made
        since, self.made_before = made - self.made_before, made
        if (taken := frame.taken) is not None:
            frame.steps += 1
            taken.steps += 1
            taken.conditions += since
            lost = taken.conditions > BUDGET.own_conditions
            if lost or taken.steps > BUDGET.own_steps and frame.steps > BUDGET.short_call:
                self.ends_call(frame, taken)
        if self.steps > self.max_unsharded and not self.libraries.any_sharded:
            self.stop(f"more than {self.max_unsharded} steps before anything was sharded")
        if not self.steps % LOOK:
            self.look()
        if made > BUDGET.conditions:
            self.stop(f"more than {BUDGET.conditions} path conditions")

    def stop(self, why: str) -> None:
        """The budget is spent: the rest of each activation that is open now is not seen."""
        self.unfinished.update(frame.id for frame in (*self.frames, *self.suspended))
        raise OutOfBudget(why)

    # -- places ---------------------------------------------------------------

    def site(self, node: nodes.NodeNG, module: Module | None = None) -> Site:
        path = (module or self.frame.module).path
        column, end_column = node.col_offset or 0, node.end_col_offset or 0
        return Site(path, node.lineno or 1, column + 1, node.end_lineno or node.lineno or 1, end_column + 1)

    def site_of(self, cls: ClassV) -> Site:
        """Where a class is defined."""
        return self.site(cls.node, cls.module)

    def moment(self, node: nodes.NodeNG) -> Moment:
        return Moment(self.site(node), tuple(self.site(call, module) for module, call in self.calls))

    def emit(self, what: E, node: nodes.NodeNG, subject: Obj | None = None) -> Step[E]:
        return self.trace.add(
            what,
            self.moment(node),
            self.guard,
            subject,
            # Code at the top of another file runs where it is asked for, and is called from nowhere.
            frames=tuple(frame.id for frame in self.frames[-len(self.calls) - 1 :]),
            context=self.context,
            asked=self.asked() if isinstance(what, AsksRanks) else {},
            loops=loops_around([*(call for _, call in self.calls), node]) if isinstance(what, InLoops) else (),
        )

    def asked(self) -> dict[Formula, Moment]:
        """Where the conditions on ranks that hold here were last asked."""
        sites = self.own_sites | self.rank_sites
        if not sites:
            return {}
        parts = [part for formula, _ in self.guard.literals for part in (formula, *atoms(formula))]
        return {atom: sites[atom] for atom in parts if atom in sites}

    @property
    def now(self) -> int:
        """The position in the trace: events with a smaller index are in the past."""
        return len(self.trace)

    # -- paths ----------------------------------------------------------------

    @contextmanager
    def on_path(self, path: PathCondition) -> Iterator[None]:
        """What is asked or happens inside belongs to this path."""
        before, self.guard = self.guard, path
        try:
            yield
        finally:
            self.guard = before

    def alternatives(self, value: Value) -> list[tuple[PathCondition, Value]]:
        """The options of a value that are possible on this path."""
        if not isinstance(value, GuardedUnion):
            return [(TRUE, value)]
        possible = [(guard, leaf) for guard, leaf in value.options if self.guard.compatible(guard)]
        return [(TRUE, possible[0][1])] if len(possible) == 1 else possible

    def objects(self, value: Value | None) -> list[Obj]:
        """The objects among them."""
        return [leaf for _, leaf in self.alternatives(value) if isinstance(leaf, Obj)] if value is not None else []

    def over(self, value: Value, action: Callable[[Value], Value]) -> Value:
        """``action`` on each option of ``value``, each on its own path."""
        possible = self.alternatives(value)
        if len(possible) == 1:
            return action(possible[0][1])
        if not possible:
            return unknown("value of an impossible path")
        return self.branch([(guard, partial(action, leaf)) for guard, leaf in possible])

    def branch(self, arms: list[tuple[PathCondition, Callable[[], Value]]]) -> Value:
        """Run exclusive arms from the same state and join what they did and returned."""
        start, born = self.guard, AbstractObject.made
        results: list[tuple[PathCondition, Value]] = []
        written: list[tuple[PathCondition, dict[Any, Any]]] = []
        for guard, thunk in arms:
            joined = start.join(guard)
            if joined is None:
                continue
            self.guard = joined
            mark = self.store.mark()
            try:
                results.append((guard, thunk()))
            except Diverges:
                pass
            written.append((guard, self.store.undo(mark, self.frame.id)))
        self.guard = start
        self.store.join(written, lambda key: self.derive(key, born))
        if not results:
            raise Diverges
        if len(results) == 1 < len(written):  # the others raise
            self.guard = self.checked_path(start, start.join(results[0][0]))
        return choose(results)

    def fork(self) -> tuple[int, Callable[[int], Formula]]:
        """A fresh n-way decision: its number and the formula of each of its arms."""
        number = self.fresh()
        return number, lambda arm: ("is", ("fork", number), arm)

    def relative(self, guard: PathCondition, base: PathCondition) -> PathCondition:
        """What ``guard`` adds to ``base``."""
        if guard is base:
            return TRUE
        known = set(base.literals)
        result = TRUE
        for formula, truth in guard.literals:
            if (formula, truth) not in known:
                result = result.add(formula, truth) or result
        return result

    # -- heap -----------------------------------------------------------------

    def new_list(self, items: Sequence[Value] = (), *, exact: bool = True, open_why: str = "") -> ListV:
        made = ListV(self.fresh())
        self.store.put(made.id, Items(tuple((TRUE, item) for item in items), exact, open_why))
        return made

    def listed(self, held: Items, *, lazy: bool = False) -> ListV:
        """A list of its own that holds what was found elsewhere."""
        made = ListV(self.fresh(), lazy)
        self.store.put(made.id, held, local=True)
        return made

    def items(self, value: ListV) -> Items:
        found = self.store.get(value.id)
        return found if isinstance(found, Items) else Items((), False, "a list that was not followed")

    def new_dict(self, entries: dict[Value, Value] | None = None, open_why: str = "") -> DictV:
        made = DictV(self.fresh())
        self.store.put(made.id, Entries(tuple((key, TRUE, item) for key, item in (entries or {}).items()), open_why))
        return made

    def entries(self, value: DictV) -> Entries:
        found = self.store.get(value.id)
        return found if isinstance(found, Entries) else Entries((), "a dict that was not followed")

    def more_inside(self, leaf: Value) -> str:
        """Why a list or dict may hold more than was seen; empty for all other values."""
        if isinstance(leaf, ListV):
            return self.items(leaf).open_why
        return self.entries(leaf).open_why if isinstance(leaf, DictV) else ""

    def leaves(self, value: Value) -> Iterator[tuple[PathCondition, Value]]:
        """All values inside lists, tuples and dicts, each with its path; cycles are cut."""
        stack: list[tuple[PathCondition, Value]] = [(self.guard, value)]
        seen: set[int] = set()
        while stack:
            guard, at = stack.pop()
            for inner, leaf in options(at):
                joined = guard.join(inner)
                if joined is None:
                    continue
                if isinstance(leaf, (ListV, DictV)):
                    if leaf.id in seen:
                        continue
                    seen.add(leaf.id)
                yield joined, leaf
                for path, item in self.contents(leaf):
                    if (deeper := joined.join(path)) is not None:
                        stack.append((deeper, item))

    def inside(self, value: Value) -> Iterator[Value]:
        """The same without paths, for who asks what there is: what may be here, each path asked for itself alone."""
        stack, seen = [value], set[int]()
        while stack:
            if not isinstance(at := stack.pop(), _HOLDING):
                yield at  # as most are
                continue
            for path, leaf in options(at):
                if not self.guard.compatible(path):
                    continue
                if isinstance(leaf, (ListV, DictV)):
                    if leaf.id in seen:
                        continue
                    seen.add(leaf.id)
                yield leaf
                stack += (item for path, item in self.contents(leaf) if self.guard.compatible(path))

    def contents(self, leaf: Value) -> list[tuple[PathCondition, Value]]:
        if isinstance(leaf, StateDict):
            tensors = self.libraries.state_tensors(leaf)
            return [] if tensors is None else [(TRUE, tensors)]
        if isinstance(leaf, TupleV):
            return [(TRUE, item) for item in reversed(leaf.items)]
        if isinstance(leaf, ListV):
            return list(reversed(self.items(leaf).items))
        if isinstance(leaf, DictV):
            return [(guard, item) for _, guard, item in reversed(self.entries(leaf).entries)]
        return []


_HOLDING = (GuardedUnion, StateDict, TupleV, ListV, DictV)  # what may hold other values, or be one of several
AnyMachine: TypeAlias = Machine[Libraries]
