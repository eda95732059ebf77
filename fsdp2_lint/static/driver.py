"""Runs the entries of a program one by one, within a budget, and puts them before the court."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable

from astroid import nodes

from ..vocab.events.base import Event
from ..vocab.events.migration import Fsdp1Wrapped
from ..vocab.rule import Court, ProgramKey
from .by_hand import entered_by_hand
from .driving import drive
from .entries import Entry, find_entries
from .filters import blur_filtered
from .fsdp1 import wrapped_events
from .garbage import Garbage
from .guards import MAX_CONDITIONS, Pool, forget
from .handles import Program
from .imports import imported_events, names_imported
from .interp.interpreter import Interpreter
from .interp.machine import MAX_SECONDS, MAX_STEPS, MAX_UNSHARDED, Diverges, OutOfBudget
from .project import Project
from .seen import Extent, functions
from .values import ClassV, Func
from .witness import witness

PROJECT_STEPS = int(os.environ.get("FSDP2_LINT_STEPS", "1000000"))
IN_VAIN = 240_000  # when that many steps of a project led to no sharding call, the other entries get only a few
NEW_PART = 0.4  # scripts of which others ran more than the rest, such as one more configuration, come later
ALIKE_STEPS = 800_000  # when a project took that many, classes that nothing built come before such scripts
LEAST = 60_000  # for an entry that shards, when others that sharded took too long or are much like it
FEWEST = {"script": 4_000, "function": 12_000, "class": 12_000}


class Driver:
    def __init__(
        self,
        project: Project,
        court: Court,
        *,
        explicit: frozenset[str],
        keep_traces: bool,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.project = project
        self.progress = progress
        self.court = court
        self.explicit = explicit
        self.keep_traces = keep_traces
        self.reached: set[nodes.NodeNG] = set()
        self.ran: set[str] = set()  # names of functions that ran and of classes that were built
        self.steps = 0
        self.garbage = Garbage()
        self.too_long = 0  # entries that sharded and then took too many steps: scripts of one project are alike
        self.in_vain = 0  # of these, steps of entries that sharded nothing
        self.out_of_budget: list[str] = []
        self.notes: list[str] = []
        self.broken: list[tuple[str, str]] = []
        self.traces: list[str] = []
        self.found_in: dict[tuple[str, str, int], set[str]] = {}  # each finding's programs
        self.extents: dict[ProgramKey, Extent] = {}

    def run(self) -> None:
        plan = find_entries(self.project, self.explicit)
        for path in plan.seeds:
            module = self.project.module(path)
            if module is not None:
                written = (*imported_events(module, self.project), *names_imported(module, self.project))
                for event in (*written, *entered_by_hand(module)):
                    self.hear_of_file(event)
        for event in wrapped_events(self.project) if self.court.hears(Fsdp1Wrapped) else ():
            self.hear_of_file(event)
        self.notes.extend(f"entry-points: {name} was not found" for name in plan.absent)
        for entry in plan.stated:
            self.reached.add(entry.node)
            self.run_entry(entry)
        later: list[Entry] = []
        for entry in plan.scripts:
            if plan.news(entry, self.ran) < NEW_PART:
                later.append(entry)
            else:
                self.run_entry(entry)
        self.run_unreached(plan.callers(self.reached))
        later.sort(key=lambda entry: plan.news(entry, self.ran), reverse=True)
        while later and self.steps < ALIKE_STEPS:
            self.run_entry(later.pop(0), LEAST)
        self.run_unreached(plan.untouched(self.reached))
        for entry in later:
            self.run_entry(entry, LEAST)

    def hear_of_file(self, event: Event) -> None:
        self.court.program = ProgramKey("file", event.at.path, os.path.basename(event.at.path))
        self.court.hear(event)

    def run_unreached(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry.node not in self.reached:
                self.reached.add(entry.node)
                self.run_entry(entry)

    def run_entry(self, entry: Entry, most: int = MAX_STEPS) -> None:
        if self.steps >= PROJECT_STEPS:
            self.out_of_budget.append(f"{entry.name}: the project's budget of {PROJECT_STEPS} steps was spent before")
            return
        if self.progress is not None:
            self.progress(entry.name)
        self.garbage.collect(self.steps)
        machine = Interpreter(
            self.project,
            max_steps=min(max(most // (1 + self.too_long), LEAST), PROJECT_STEPS - self.steps),
            max_unsharded=max(min(MAX_UNSHARDED, IN_VAIN - self.in_vain), FEWEST[entry.kind]),
        )
        program = Program(machine, entry.name, partial=entry.kind != "script")
        self.court.program = entry.key
        cut, broken = len(self.out_of_budget), len(self.broken)
        try:
            self.interpret(machine, entry, program)
        except (OutOfBudget, RecursionError, MemoryError) as error:
            reason = str(error) if isinstance(error, OutOfBudget) else "calls nested too deeply"
            self.too_long += machine.any_sharded and most > LEAST
            self.out_of_budget.append(f"{entry.name}: {reason}")
            program.cut_off(f"{entry.name} went out of budget ({reason})")
        except Diverges:
            pass
        except Exception as error:  # a defect costs this entry, not the run
            if os.environ.get("FSDP2_LINT_DEBUG"):
                raise
            self.broken.append((entry.name, f"{type(error).__name__}: {error}"))
            program.cut_off(f"{entry.name} could not be interpreted")
        blur_filtered(program)
        self.steps += machine.steps
        self.in_vain += 0 if machine.any_sharded else machine.steps
        self.reached |= machine.reached
        self.ran |= machine.built | {node.name for node in machine.reached if isinstance(node, nodes.FunctionDef)}
        if self.keep_traces:
            self.traces.append(f"# {entry.name}: {machine.steps} steps")
            self.traces.extend(machine.trace.dump())
        self.judge(program)
        left_out = [*self.out_of_budget[cut:], *(what for _, what in self.broken[broken:])]
        calls = Counter([*(who for who, _ in machine.unfollowed), *left_out])
        self.extents[entry.key] = Extent(calls, functions(machine.reached))
        forget()

    def judge(self, program: Program) -> None:
        if program.open_why and not program.trace.steps:
            return
        deadline, allowed = time.process_time() + MAX_SECONDS, Pool.made + MAX_CONDITIONS
        self.court.incomplete = program.incomplete
        before = {key: len(verdict.findings) for key, verdict in self.court.verdicts.items()}
        for number, event in enumerate(witness(program)):
            self.court.hear(event)
            if number % 64 == 0 and time.process_time() > deadline or Pool.made > allowed:
                self.out_of_budget.append(
                    f"{program.name}: judging took more than {MAX_SECONDS} s or too many path conditions"
                )
                break
        for key, verdict in self.court.verdicts.items():
            for finding in verdict.findings[before.get(key, 0) :]:
                self.found_in.setdefault(finding.key, set()).add(program.name)

    def interpret(self, machine: Interpreter, entry: Entry, program: Program) -> None:
        if entry.kind == "script":
            machine.run_module(entry.module)
        elif entry.kind == "function":
            machine.run_function(Func(entry.module, entry.node))
        else:
            for method, why in drive(machine, ClassV(entry.module, entry.node)):
                self.out_of_budget.append(f"{entry.name}.{method.name}(): {why}")
                if self.project.may_shard(method.module.path, method.node):
                    program.cut_off(f"{entry.name}.{method.name}() went out of budget ({why})")
