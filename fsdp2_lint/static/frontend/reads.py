"""What an analysis asked of the project: as long as all of this is answered the same, so is the analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Import = tuple[str, str, int, str]  # in files of this folder, this name, with so many dots, but for this file
Question = tuple[str, str]  # of what kind, and about which file, name or text


@dataclass(slots=True)
class Reads:
    """``files`` that were read or looked for; ``imports`` and what they mean; and the other questions that were
    ``asked``, which depend on several files. ``parts`` are what others asked whose answers were used."""

    files: set[str] = field(default_factory=set)
    imports: dict[Import, str | None] = field(default_factory=dict)
    asked: set[Question] = field(default_factory=set)
    parts: dict[int, Reads] = field(default_factory=dict)

    def use(self, other: Reads) -> None:
        self.parts[id(other)] = other

    def all(self) -> Reads:
        """The same without parts."""
        found = Reads()
        for part in self._each({}):
            found.files |= part.files
            found.imports.update(part.imports)
            found.asked |= part.asked
        return found

    def _each(self, met: dict[int, Reads]) -> Iterator[Reads]:
        met[id(self)] = self
        yield self
        for number, part in self.parts.items():
            if number not in met:
                yield from part._each(met)
