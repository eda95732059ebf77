"""Uses of what not every version of torch has, and whether the program asks for the version before."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ....vocab.target import Version, in_words
from ...domain import events
from ...domain.relations import Relation
from ...frontend.gates import ASKS, comes_gated, stands_gated, use_falls_back
from ...frontend.project import Project
from ...frontend.torch_api import History, absent
from ..shared.closure import excluded
from ..shared.program import AtStep
from .migration_checks import StaticConverted

_ELSEWHERE = "the file lies in a part of the project that asks for a newer torch"
_GATED = "the program asks for the version, or allows for its absence, before"


@record
class ImportedName:
    """A name that is imported by its public path."""

    when: Moment
    history: History
    gated: bool  # where it is written
    project: Project

    def absent(self, version: Version) -> Answer[Place]:
        words, path = absent(self.history, version), self.when.at.path
        if not words:
            return _known(version)
        if self.gated or comes_gated(self.project, path):
            return unknown(_GATED)
        if _is_newer(self.project.oldest_torch(path), version):
            return unknown(_ELSEWHERE)
        return yes(Place(self.when, words))


class StaticUse(AtStep[events.ApiUsed]):
    """A keyword that is passed, or a method of a sharded module that is called."""

    def absent(self, version: Version) -> Answer[Place]:
        """Does this torch lack it? yes: since or until when. Unknown where the program asks, or has a fallback."""
        words = absent(self.step.what.history, version)
        if not words:
            return _known(version)
        if _is_newer(self.program.project.oldest_torch(self.step.when.at.path), version):
            return unknown(_ELSEWHERE)
        if self.step.subject is not None:
            sharded = StaticConverted(self.program, self.step, self.step.subject).sharded_by(Relation.SAME)
            if not sharded.surely:
                return sharded
        paths = (self.step.guard, *self.step.what.paths)
        asked = any(ASKS.search(repr(formula)) for path in paths for formula, _ in path.literals)
        project, written = self.program.project, self.step.what.written
        gated = (stands_gated(project, *each, use_falls_back) for each in written)
        if asked or any(path.blurred for path in paths) or any(gated):
            return unknown(_GATED)
        return yes(Place(self.step.when, words))


def _known(version: Version) -> Answer[Place]:
    return excluded(f"it is in {in_words(version)}")


def _is_newer(oldest: Version | None, version: Version) -> bool:
    """Does a file ask for more than what the root of the project pins?"""
    return oldest is not None and oldest > version
