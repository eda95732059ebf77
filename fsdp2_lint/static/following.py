"""One program: followed and judged within its own budget. What comes of it is data, which another run can use."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from ..errors import debugging, in_words
from ..vocab.answers import CannotTell
from ..vocab.declared import record
from ..vocab.finding import Site, listed
from ..vocab.rule import Dispatcher, ModelKey, Rule, Verdict, for_target
from ..vocab.target import NEWEST
from .budget import BUDGET
from .checks import events_of
from .checks.migration.needed import torch_of
from .checks.shared.doubts import doubtful
from .checks.shared.program import Program
from .domain import events
from .domain.events import Step
from .domain.formulas import LARGE, Formula, intern, is_fork
from .domain.path_conditions import PathCondition, Pool, forget
from .domain.sides import forget_sides
from .domain.values import ClassV, Func
from .dump import dump
from .entries import Entry, Where, where
from .frontend.project import Project
from .harness import drive
from .interpreter.frames import Diverges, OutOfBudget
from .interpreter.interpreter import Interpreter
from .interpreter.machine import LOOK
from .libraries.model import TorchModel
from .seen import Extent, functions


# -- loops over modules whose filter asks what nobody knows, such as names out of a configuration.
#
# A model whose parts are known is walked part by part, and an open filter lets each of them through
# on a path of its own. That a part may pass is no proof that it does.
def blur_filtered(program: Program) -> None:
    """What one call of ``fully_shard`` gets on conditions that differ from part to part is not surely sharded."""
    calls: dict[int, list[Step[events.Sharded]]] = {}
    for step in program.trace.of(events.Sharded):
        calls.setdefault(step.place, []).append(step)
    asked: dict[tuple[PathCondition, int], int] = {}  # what passes one filter passes another call's that asks the same
    for steps in calls.values():
        met: Counter[PathCondition] = Counter()
        for step in [each for each in steps if any(_sets_apart(program, each, other) for other in steps)]:
            number = asked.setdefault((step.guard, met[step.guard]), step.index)
            met[step.guard] += 1
            formula: Formula = intern(("truth", (LARGE, "a filter", number)))
            path = step.guard.add(formula) or step.guard
            program.trace.put(replace(step, guard=path, what=replace(step.what, filtered=True)))


def _sets_apart(program: Program, step: Step[events.Sharded], other: Step[events.Sharded]) -> bool:
    """Is something asked of one part that is not asked of the other? Else they are what one name may stand for."""
    if step.guard is other.guard or step.what.group == other.what.group:
        return False
    if all(is_fork(part[0]) or part in other.guard.literal_set for part in step.guard.literals):
        return False
    return step.guard.compatible(other.guard) or any(
        mine[0] is theirs[0] and mine != theirs  # else one of the two stands there, each on paths of its own
        for mine in map(program.address, step.what.group)
        for theirs in map(program.address, other.what.group)
    )


class TooBusy(Exception):
    """The last resort: a program took more time of the processor than all its steps should."""


class Clock:
    """CPU time of one program, in the thread that follows it. It decides nothing but when to give up.

    Whoever waits for the run may give up too: ``asked`` raises then.
    """

    def __init__(self, asked: Callable[[], None]) -> None:
        self.asked = asked
        self._end = time.thread_time() + BUDGET.seconds

    def look(self) -> None:
        self.asked()
        if time.thread_time() > self._end:
            raise TooBusy(f"it took more than {BUDGET.seconds} s of CPU time, so nothing is said of it")


@record
class Limits:
    """Of steps, in all and before anything is sharded."""

    steps: int
    unsharded: int


@dataclass(slots=True)
class Followed:
    """What was seen of one program. ``repeatable``: False if a machine with more time or memory may see more."""

    verdicts: list[Verdict] = field(default_factory=list)
    extent: Extent = field(default_factory=Extent)
    reached: set[Where] = field(default_factory=set)
    out_of_budget: list[str] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)  # what a defect of the analysis cost, and the defect
    traces: list[str] = field(default_factory=list)
    repeatable: bool = True
    steps: int = 0


def follow(
    project: Project, rules: Sequence[Rule], entry: Entry, limits: Limits, *, keep_trace: bool = False
) -> Followed:
    """Follow one program and judge it; what goes wrong costs this program only."""
    return _Following(project, rules, entry, limits, keep_trace).run()


def forget_last() -> None:
    """What the last program made is garbage from here on. Nobody needs to wait for that where no other comes."""
    forget_sides()
    forget()


class _Following:
    def __init__(self, project: Project, rules: Sequence[Rule], entry: Entry, limits: Limits, keep_trace: bool) -> None:
        self.project, self.rules, self.entry, self.keep_trace = project, rules, entry, keep_trace
        self.clock = Clock(project.look)
        self.machine = Interpreter(
            project, TorchModel, max_steps=limits.steps, max_unsharded=limits.unsharded, look=self.clock.look
        )
        self.program = Program(machine=self.machine, name=entry.name, partial=entry.kind != "script")
        self.dispatcher = self.dispatcher_of(rules)
        self.found = Followed()

    def run(self) -> Followed:
        found, machine, name = self.found, self.machine, self.entry.name
        try:
            self.follow()
            found.reached = {where(node) for node in machine.reached}
            self.set_torch()
            self.judge()
        except (TooBusy, MemoryError) as error:  # how soon that comes depends on the machine: so nothing is said
            found.repeatable = False
            found.out_of_budget.append(f"{name}: {error or 'it took more memory than there is'}")
            silence(self.dispatcher)
            self.cut(f"{name} could not be followed to its end ({error or 'no memory'})")
        except Exception as error:  # a defect costs what is found in this program, not the run
            self.broke(error)
            self.cut(f"{name} could not be judged to its end")
        left_out = [*found.out_of_budget, *(what for _, what in found.broken)]
        calls = Counter([*(who for who, _ in machine.libraries.unfollowed), *left_out])
        found.extent = Extent(calls, functions(machine.reached))
        found.broken += ((code, f"{type(error).__name__}: {error}") for code, error in self.dispatcher.broken)
        found.verdicts, found.steps = [*self.dispatcher.verdicts.values()], machine.steps
        return found

    def follow(self) -> None:
        """Interpret it as far as its budget goes; what ends it before is in ``program.open_why``."""
        name, program = self.entry.name, self.program
        try:
            self.interpret()
        except (OutOfBudget, RecursionError) as error:
            reason = str(error) if isinstance(error, OutOfBudget) else "calls nested too deeply"
            self.found.out_of_budget.append(f"{name}: {reason}")
            program.cut_off(f"{name} went out of budget ({reason})")
        except Diverges:
            pass
        except (TooBusy, MemoryError):
            raise
        except Exception as error:
            self.broke(error)
            program.cut_off(f"{name} could not be interpreted")
        blur_filtered(program)
        if self.keep_trace:
            self.found.traces = [f"# {name}: {self.machine.steps} steps", *dump(self.machine.trace)]

    def interpret(self) -> None:
        machine, entry = self.machine, self.entry
        module = self.project.module(entry.path)
        node = entry.found_in(module) if module is not None else None
        if module is None or node is None:
            return  # the file is told to be unreadable
        if entry.kind == "script":
            with suppress(Diverges):  # its last line may be an exit
                machine.run_module(module)
        elif entry.kind == "function":
            with suppress(Diverges):
                machine.run_function(Func(module, node))
        else:
            cut: dict[str, list[str]] = {}
            for method, why in drive(machine, ClassV(module, node)):
                cut.setdefault(why, []).append(f"{method.name}()")
                if self.project.may_shard(method.module.path, method.node):
                    self.program.cut_off(f"{entry.name}.{method.name}() went out of budget ({why})")
            self.found.out_of_budget += (f"{entry.name}, {listed(names)}: {why}" for why, names in cut.items())
        machine.in_module(module, machine.libraries.ended)

    def dispatcher_of(self, rules: Sequence[Rule]) -> Dispatcher:
        made = Dispatcher(rules, self.program.incomplete, partial(doubtful, self.program))
        made.program = self.entry.key
        return made

    def set_torch(self) -> None:
        """Judge it for the torch with which it comes to its FSDP2 code, if that is a newer one."""
        target = max((rule.target for rule in self.rules), default=NEWEST)
        torch = torch_of(self.program, target)
        if torch != target:
            self.dispatcher = self.dispatcher_of(for_target(self.rules, torch))

    def judge(self) -> None:
        program = self.program
        if program.open_why and not program.trace.steps:
            return
        if why := dispatch(program, self.dispatcher, self.clock):
            self.found.out_of_budget.append(f"{program.name}: {why}")
        if why or program.open_why:
            self.cut(f"{program.name}: {why}" if why else program.open_why)
        if (site := self.machine.libraries.configured) is not None:
            self.cut(f"a run may name other classes than the configuration files of the project do ({site})")

    def cut(self, why: str) -> None:
        cut(self.dispatcher, self.program, self.rules, why)

    def broke(self, error: Exception) -> None:
        if debugging():
            raise error
        self.found.broken.append((self.entry.name, in_words(error)))


def dispatch(program: Program, dispatcher: Dispatcher, clock: Clock) -> str:
    """Put the events of a program before ``dispatcher``; why not all of them, or empty."""
    allowed = Pool.made + BUDGET.conditions
    try:
        with program.trace.bounded(BUDGET.judging, clock.asked):
            for number, event in enumerate(events_of(program)):
                dispatcher.dispatch(event)
                if dispatcher.broken and debugging():
                    raise dispatcher.broken[0][1]
                program.trace.look()
                if not number % LOOK:
                    clock.look()
                if Pool.made > allowed:
                    return f"judging it took more than {BUDGET.conditions} path conditions"
    except CannotTell as why:
        return str(why)
    return ""


def cut(dispatcher: Dispatcher, program: Program, rules: Sequence[Rule], why: str) -> None:
    """Not all of the program was seen or judged: what is not violated by now is unknown, for all of its models."""
    models = [subject for _, subject in dispatcher.verdicts if isinstance(subject, ModelKey)]
    models += (program.key(part) for step in program.trace.of(events.Sharded) for part in step.what.group)
    for model in dict.fromkeys(models):
        for rule in rules:
            dispatcher.verdicts.setdefault((rule.code, model), Verdict(rule.code, model))
    for verdict in dispatcher.verdicts.values():
        if dispatcher.program is not None:
            verdict.programs[dispatcher.program] = None
        place = verdict.subject.site if isinstance(verdict.subject, ModelKey) else Site(program.name, 1)
        verdict.unknown.setdefault(why, place)


def silence(dispatcher: Dispatcher) -> None:
    """Nothing that was found counts."""
    for verdict in dispatcher.verdicts.values():
        verdict.findings.clear()
        verdict.judged.clear()
