"""One program before the rules: what they find in it, and what stays unknown because not all of it was seen."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from ..vocab.answers import CannotTell
from ..vocab.finding import Site
from ..vocab.rule import Dispatcher, ModelKey, Rule, Verdict
from .budget import BUDGET
from .checks import witness
from .checks.shared.program import Program
from .domain import events
from .domain.guards import Pool
from .interpreter.machine import LOOK


class TooBusy(Exception):
    """The last resort: a program took more time of the processor than all its steps should."""


class Clock:
    """CPU time of one program, in the thread that follows it. It decides nothing but when to give up."""

    def __init__(self) -> None:
        self._end = time.thread_time() + BUDGET.seconds

    def look(self) -> None:
        if time.thread_time() > self._end:
            raise TooBusy(f"it took more than {BUDGET.seconds} s of CPU time, so nothing is said of it")


def dispatch(program: Program, dispatcher: Dispatcher, clock: Clock) -> str:
    """Put the events of a program before ``dispatcher``; why not all of them, or empty."""
    allowed = Pool.made + BUDGET.conditions
    try:
        with program.trace.bounded(BUDGET.judging):
            for number, event in enumerate(witness(program)):
                dispatcher.dispatch(event)
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


def add(total: Dispatcher, part: Collection[Verdict]) -> set[tuple[str, str, int]]:
    """What one program gave, to what all gave; the keys of its findings."""
    for verdict in part:
        known = total.verdicts.setdefault((verdict.code, verdict.subject), Verdict(verdict.code, verdict.subject))
        known.findings += (finding for finding in verdict.findings if finding not in known.findings)
        known.judged.update(verdict.judged)
        known.programs.update(verdict.programs)
        if verdict.through is not None:
            known.comes_by(verdict.through)
        known.unknown.update({why: site for why, site in verdict.unknown.items() if why not in known.unknown})
    return {finding.key for verdict in part for finding in verdict.findings}
