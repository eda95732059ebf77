"""The contract in five lines: what a job is asked first, each point with the clauses that belong to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

POINTS = {
    "launch, device and ranks": "18",
    "sharding, bottom-up": "239",
    "model(x)": "45",
    "optimizer and steps": "6",
    "checkpoints": "7",
}
"""By the hundreds of codes: launch and ranks; initialisation, sharding and migration; forward and precision."""
_WORST = ("violated", "unknown", "upheld")
NOT_JUDGED = "not judged"


class Clause(Protocol):
    @property
    def code(self) -> str: ...
    @property
    def word(self) -> str: ...


def points(clauses: Iterable[Clause]) -> Iterator[tuple[str, str, str]]:
    """Of each point the name, its word, and what that comes from; of a clause the worst that is said of it counts."""
    words: dict[str, str] = {}
    for clause in clauses:
        words[clause.code] = min(words.get(clause.code, "upheld"), clause.word, key=_WORST.index)
    for name, hundreds in POINTS.items():
        mine = {code: word for code, word in sorted(words.items()) if code.removeprefix("FSDP")[:1] in hundreds}
        yield name, min(mine.values(), key=_WORST.index, default=NOT_JUDGED), _counted(mine)


def _counted(words: dict[str, str]) -> str:
    """``FSDP601, FSDP605; 3 unknown, 9 upheld``"""
    violated = [code for code, word in words.items() if word == "violated"]
    numbers = [(word, sum(1 for each in words.values() if each == word)) for word in _WORST[1:]]
    rest = ", ".join(f"{number} {word}" for word, number in numbers if number)
    return "; ".join(filter(None, (", ".join(violated), rest)))
