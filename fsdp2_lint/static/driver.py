"""Runs the entries of a program one by one, within a budget, and puts them before the court."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from astroid import nodes

from ..vocab.rule import Court
from .entries import Entry, find_entries
from .guards import MAX_CONDITIONS, Pool, forget
from .handles import Program
from .imports import imported_events
from .interp.interpreter import Interpreter
from .interp.machine import MAX_SECONDS, MAX_STEPS, Diverges, OutOfBudget
from .project import Project
from .values import ClassV, Func, Obj
from .witness import witness

PROJECT_STEPS = int(os.environ.get("FSDP2_LINT_STEPS", "800000"))
# The order in which a framework or a caller drives the methods of a trainer-like class.
_DRIVEN = tuple(
    "setup init configure_model build create prepare load parallelize wrap shard configure_optim"
    " fit train run step eval valid test save export".split()
)


class Driver:
    def __init__(self, project: Project, court: Court, *, explicit: frozenset[str], keep_traces: bool) -> None:
        self.project = project
        self.court = court
        self.explicit = explicit
        self.keep_traces = keep_traces
        self.reached: set[nodes.NodeNG] = set()
        self.steps = 0
        self.out_of_budget: list[str] = []
        self.broken: list[tuple[str, str]] = []
        self.traces: list[str] = []
        self.found_in: dict[tuple[str, str, int], set[str]] = {}  # each finding's programs

    def run(self) -> None:
        plan = find_entries(self.project, self.explicit)
        for path in plan.seeds:
            module = self.project.module(path)
            if module is not None:
                for event in imported_events(module):
                    self.court.hear(event)
        for entry in plan.scripts:
            self.run_entry(entry)
        for entry in plan.callers(self.reached):
            if entry.node not in self.reached:
                self.reached.add(entry.node)
                self.run_entry(entry)

    def run_entry(self, entry: Entry) -> None:
        if self.steps >= PROJECT_STEPS:
            self.out_of_budget.append(f"{entry.name}: the project's budget of {PROJECT_STEPS} steps was spent before")
            return
        machine = Interpreter(self.project, max_steps=min(MAX_STEPS, PROJECT_STEPS - self.steps))
        program = Program(machine, entry.name, partial=entry.kind != "script")
        try:
            self.interpret(machine, entry)
        except (OutOfBudget, RecursionError, MemoryError) as error:
            reason = str(error) if isinstance(error, OutOfBudget) else "calls nested too deeply"
            self.out_of_budget.append(f"{entry.name}: {reason}")
            program.open_why = f"{entry.name} went out of budget ({reason})"
        except Diverges:
            pass
        except Exception as error:  # a defect costs this entry, not the run
            if os.environ.get("FSDP2_LINT_DEBUG"):
                raise
            self.broken.append((entry.name, f"{type(error).__name__}: {error}"))
            program.open_why = f"{entry.name} could not be interpreted"
        self.steps += machine.steps
        self.reached |= machine.reached
        if self.keep_traces:
            self.traces.append(f"# {entry.name}: {machine.steps} steps")
            self.traces.extend(machine.trace.dump())
        self.judge(program)
        forget()

    def judge(self, program: Program) -> None:
        if program.open_why and not program.trace.steps:
            return
        deadline, allowed = time.process_time() + MAX_SECONDS, Pool.made + MAX_CONDITIONS
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

    def interpret(self, machine: Interpreter, entry: Entry) -> None:
        if entry.kind == "script":
            machine.run_module(entry.module)
        elif entry.kind == "function":
            machine.run_function(Func(entry.module, entry.node))
        else:
            self.drive(machine, ClassV(entry.module, entry.node))

    def drive(self, machine: Interpreter, cls: ClassV) -> None:
        """Build a class that nobody builds, and call its public methods in a canonical order.

        Between two methods the order is a guess, so each runs under a guard of its own: no
        finding may rest on it.
        """
        receiver = machine.build(cls)
        if not isinstance(receiver, Obj):
            return
        start = machine.guard
        for position, (owner, node) in enumerate(self.methods(machine, cls)):
            if node in machine.reached:
                continue
            machine.guard = start.add(("is", ("drive", receiver), position)) or start
            try:
                machine.run_function(Func(owner.module, node, owner.closure, owner), receiver)
            except Diverges:
                pass
            machine.guard = start

    def methods(self, machine: Interpreter, cls: ClassV) -> Iterable[tuple[ClassV, nodes.FunctionDef]]:
        found: dict[str, tuple[ClassV, nodes.FunctionDef]] = {}
        for base in machine.mro(cls):
            if isinstance(base, ClassV):
                for node in base.node.body:
                    if isinstance(node, nodes.FunctionDef) and not node.name.startswith("__"):
                        found.setdefault(node.name, (base, node))
        return sorted(found.values(), key=lambda each: (_rank(each[1].name), each[1].lineno))


def _rank(name: str) -> int:
    """The place of the first words of a method's name that say when it is called: ``model_setup`` is a setup."""
    words = name.strip("_").split("_")
    for start in range(len(words)):
        rest = "_".join(words[start:])
        for position, prefix in enumerate(_DRIVEN):
            if rest.startswith(prefix):
                return position
    return len(_DRIVEN)
