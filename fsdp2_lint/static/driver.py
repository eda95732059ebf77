"""Runs the programs of a project one by one, each within a budget of its own, and puts them before the dispatcher."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from astroid import nodes

from ..errors import CostsOnly, debugging, in_words
from ..vocab.events.base import Event
from ..vocab.rule import Dispatcher, ProgramKey, Rule
from ..vocab.words import listed
from .budget import BUDGET, Budget
from .checks import seen_in_text
from .checks.shared.doubts import doubtful
from .checks.shared.program import Program
from .dispatching import Clock, TooBusy, add, cut, dispatch, silence
from .domain.guards import forget
from .domain.sides import forget_sides
from .domain.values import ClassV, Func
from .dump import dump
from .entries import Entry, Plan, find_entries
from .filters import blur_filtered
from .frontend.project import Project
from .garbage import Garbage
from .harness import drive
from .interpreter.frames import Diverges, OutOfBudget
from .interpreter.interpreter import Interpreter
from .libraries.model import TorchModel
from .seen import Extent, functions


class Driver:
    """What is found in one program depends on its files alone: no other program's steps are counted, and no clock."""

    def __init__(
        self,
        project: Project,
        rules: Sequence[Rule],
        *,
        explicit: frozenset[str],
        keep_traces: bool,
        budget: Budget = BUDGET,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.project = project
        self.progress = progress
        self.rules = rules
        self.dispatcher = Dispatcher(rules)
        self.explicit = explicit
        self.keep_traces = keep_traces
        self.budget = budget
        self.reached: set[nodes.NodeNG] = set()
        self.programs = 0
        self.shared: dict[bool, list[set[str]]] = {True: [], False: []}  # of scripts and of parts: see ``is_near``
        self.beyond: list[str] = []  # programs that come after as many as are run
        self.repeatable = True  # would another run say the same?
        self.garbage = Garbage()
        self.out_of_budget: list[str] = []
        self.notes: list[str] = []
        self.broken = project.broken
        self.traces: list[str] = []
        self.found_in: dict[tuple[str, str, int], set[str]] = {}  # each finding's programs
        self.extents: dict[ProgramKey, Extent] = {}  # how far each program was followed

    def run(self) -> None:
        plan = self.plan = find_entries(self.project, self.explicit)
        self.hear_text(plan)
        self.notes.extend(f"entry-points: {name} was not found" for name in plan.absent)
        for entry in (*plan.stated, *plan.scripts):
            self.reached.add(entry.node)
            self.run_entry(entry)
        for entries in (plan.callers(self.reached), plan.untouched(self.reached)):
            with CostsOnly("the search for what no script calls", self.project.note):
                self.run_unreached(entries)
        self.say_left_out(plan)

    def say_left_out(self, plan: Plan) -> None:
        """Programs that the table of budgets keeps from being run: not one of them is left out in silence."""
        if self.beyond:
            self.out_of_budget.append(f"{listed(self.beyond)}: beyond the first {self.budget.programs} programs")
        if alike := plan.left_out(self.reached):
            self.out_of_budget.append(f"{listed(alike)}: too many call or inherit the same sharding code")

    def hear_text(self, plan: Plan) -> None:
        """What is seen in the files' text alone."""
        for event in seen_in_text(self.project, plan.seeds, self.dispatcher):
            self.hear_of_file(event)

    def hear_of_file(self, event: Event) -> None:
        self.dispatcher.program = ProgramKey("file", event.at.path, os.path.basename(event.at.path))
        self.dispatcher.dispatch(event)

    def run_unreached(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry.node not in self.reached:
                self.reached.add(entry.node)
                self.run_entry(entry)

    def run_entry(self, entry: Entry) -> None:
        """Follow one program and judge it; what goes wrong costs this program only."""
        self.programs += 1
        if self.programs > self.budget.programs:
            self.beyond.append(entry.name)
            return
        if self.progress is not None:
            self.progress(entry.name)
        forget_sides()
        forget()  # first: what the last program made is garbage from here on
        self.garbage.collect()
        clock = Clock()
        near = self.is_near(entry)
        steps, unsharded = self.budget.steps(entry.kind, near=near), self.budget.unsharded(entry.kind, near=near)
        machine = Interpreter(self.project, TorchModel, max_steps=steps, max_unsharded=unsharded, look=clock.look)
        program = Program(machine, entry.name, partial=entry.kind != "script")
        dispatcher = Dispatcher(self.rules, program.incomplete, partial(doubtful, program))
        dispatcher.program = entry.key
        before = len(self.out_of_budget), len(self.broken)
        try:
            self.follow(machine, entry, program)
            self.reached.update(machine.reached)
            self.judge(program, dispatcher, clock)
        except (TooBusy, MemoryError) as error:  # how soon that comes depends on the machine: so nothing is said
            self.repeatable = False
            self.out_of_budget.append(f"{entry.name}: {error or 'it took more memory than there is'}")
            silence(dispatcher)
            cut(
                dispatcher,
                program,
                self.rules,
                f"{entry.name} could not be followed to its end ({error or 'no memory'})",
            )
        except Exception as error:  # a defect costs what is found in this program, not the run
            self.broke(entry, error)
            cut(dispatcher, program, self.rules, f"{entry.name} could not be judged to its end")
        for key in add(self.dispatcher, dispatcher):
            self.found_in.setdefault(key, set()).add(entry.name)
        left_out = [*self.out_of_budget[before[0] :], *(what for _, what in self.broken[before[1] :])]
        calls = Counter([*(who for who, _ in machine.libraries.unfollowed), *left_out])
        self.extents[entry.key] = Extent(calls, functions(machine.reached))
        self.garbage.made(machine.steps)

    def is_near(self, entry: Entry) -> bool:
        """Is it among the first programs of its kind that share its sharding code? All others never count."""
        shares = self.plan.shares.get(entry.module.path, set())
        alike = self.shared[entry.kind == "script"]
        before = sum(1 for other in alike if not shares.isdisjoint(other))
        alike.append(shares)
        return before < self.budget.near or entry in self.plan.stated

    def follow(self, machine: Interpreter[TorchModel], entry: Entry, program: Program) -> None:
        """Interpret a program as far as its budget goes; what ends it before is in ``program.open_why``."""
        try:
            self.interpret(machine, entry, program)
        except (OutOfBudget, RecursionError) as error:
            reason = str(error) if isinstance(error, OutOfBudget) else "calls nested too deeply"
            self.out_of_budget.append(f"{entry.name}: {reason}")
            program.cut_off(f"{entry.name} went out of budget ({reason})")
        except Diverges:
            pass
        except (TooBusy, MemoryError):
            raise
        except Exception as error:
            self.broke(entry, error)
            program.cut_off(f"{entry.name} could not be interpreted")
        blur_filtered(program)
        if self.keep_traces:
            self.traces.append(f"# {entry.name}: {machine.steps} steps")
            self.traces.extend(dump(machine.trace))

    def broke(self, entry: Entry, error: Exception) -> None:
        if debugging():
            raise error
        self.project.note(entry.name, in_words(error))

    def judge(self, program: Program, dispatcher: Dispatcher, clock: Clock) -> None:
        if program.open_why and not program.trace.steps:
            return
        why = dispatch(program, dispatcher, clock)
        if why:
            self.out_of_budget.append(f"{program.name}: {why}")
        if why or program.open_why:
            cut(dispatcher, program, self.rules, f"{program.name}: {why}" if why else program.open_why)

    def interpret(self, machine: Interpreter[TorchModel], entry: Entry, program: Program) -> None:
        if entry.kind == "script":
            machine.run_module(entry.module)
        elif entry.kind == "function":
            machine.run_function(Func(entry.module, entry.node))
        else:
            for method, why in drive(machine, ClassV(entry.module, entry.node)):
                self.out_of_budget.append(f"{entry.name}.{method.name}(): {why}")
                if self.project.may_shard(method.module.path, method.node):
                    program.cut_off(f"{entry.name}.{method.name}() went out of budget ({why})")
