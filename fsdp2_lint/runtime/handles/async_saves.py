"""A save in the background, once it is known what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from ...vocab.answers import Answer, yes
from ...vocab.finding import Place
from ..closure import looked


@dataclass(frozen=True, slots=True)
class RuntimeAsyncSave:
    """Each field is the proof of its answer, if there is one."""

    never_awaited: Place | None = None
    next_save: Place | None = None
    training: Place | None = None

    def dropped(self) -> Answer[Place]:
        return _answer(self.never_awaited)

    def overtaken(self) -> Answer[Place]:
        return _answer(self.next_save)

    def shares_group(self) -> Answer[Place]:
        return _answer(self.training)


def _answer(place: Place | None) -> Answer[Place]:
    return looked("the future of the save was watched") if place is None else yes(place)
