"""What could not be read, decoded, followed or judged to its end: said and counted wherever findings are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unseen:
    """``failures`` make a run abnormal, ``notes`` do not. Each is one line."""

    failures: Sequence[str] = ()
    notes: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.failures or self.notes)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """``error`` or ``warning``, and the line."""
        yield from (("error", line) for line in self.failures)
        yield from (("warning", line) for line in self.notes)

    def counted(self) -> str:
        """``1 error, 2 warnings``."""
        parts = ((len(self.failures), "error"), (len(self.notes), "warning"))
        return ", ".join(f"{number} {word}{'s' if number != 1 else ''}" for number, word in parts if number)


ALL_SEEN = Unseen()
