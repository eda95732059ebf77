"""Random numbers: do the ranks draw the same?"""

from __future__ import annotations

from ...domain import events
from ...domain.events import AnyStep
from ..shared.program import Program


def drawn_apart(program: Program, generator: str, step: AnyStep) -> str:
    """Empty if the ranks surely draw different numbers by then; else why they may draw the same."""
    seeds = [each for each in program.trace.of(events.Seeded) if generator in each.what.generators]
    before = [each for each in seeds if each.index < step.index]
    if before and before[-1].what.differs and before[-1].precedes(step):
        return ""
    if before or seeds or generator == "torch":  # torch starts from the same seed in every process
        return "whether the ranks draw the same random numbers is not known"
    if who := next(iter((*program.machine.libraries.opaque, program.managed_by)), ""):
        return f"{who} may seed the random numbers"
    return ""


def seeded_before(program: Program, generator: str, step: AnyStep) -> bool:
    return any(
        generator in each.what.generators and each.index < step.index for each in program.trace.of(events.Seeded)
    )
