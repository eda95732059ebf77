"""Generators of parameters: has one been read to its end before?"""

from __future__ import annotations

from dataclasses import dataclass

from astroid import nodes

from ...vocab.answers import Answer, no, yes
from ...vocab.finding import Place
from ..trace import Step
from .loops import Loop, loops_around
from .program import Program


@dataclass(frozen=True, slots=True)
class StaticGenerator:
    """As of ``step``, which reads it."""

    program: Program
    step: Step

    def spent(self) -> Answer:
        for earlier in self.program.trace.of("consumed", before=self.step):
            if not earlier["whole"] or earlier.same_call(self.step):
                continue
            if earlier["generator"] == self.step["generator"]:
                return yes(Place(earlier.when, f"{earlier['by']} reads it to its end"))
        made = self._made()
        if made is None or not self._again(made):
            return no()
        return yes(Place(made.when, "it is made once, before the loop, and empty from the second round on"))

    def _yields(self, loop: Loop) -> bool:
        """May the generator be an element of what the loop goes through, another one in each round?"""
        if not isinstance(loop.node, nodes.For):
            return False
        here = self.step.when.chain[len(loop.calls)]
        bound = {name.name for name in loop.node.target.nodes_of_class(nodes.AssignName)}
        return any(name.name in bound and name.lineno == here.row for name in loop.node.nodes_of_class(nodes.Name))

    def _made(self) -> Step | None:
        kind, key = self.step["generator"]
        if kind == "step":
            return self.program.trace.steps[key] if key >= 0 else None
        return next((made for made in self.program.trace.of("generator") if made.detail.get("made") == key), None)

    def _again(self, made: Step) -> bool:
        """Does a loop come back here without making another one?"""
        project = self.program.machine.project
        around = set(loops_around(project, made))
        rounds = [loop for loop in loops_around(project, self.step) if loop not in around and not self._yields(loop)]
        if not rounds or any(loop.once for loop in rounds):
            return False
        read = {step["generator"] for step in self.program.trace.of("consumed")}
        kept = [  # read in a later round, it may be, under the name of this one
            other
            for other in self.program.trace.of("generator")
            if other.subject is made.subject and other.index > made.index and _key(other) not in read
        ]
        return not any(set(loops_around(project, other)) - around for other in kept)


def _key(made: Step) -> tuple[str, int]:
    return ("list", made["made"]) if "made" in made.detail else ("step", made.index)
