"""Whether the ranks of other machines issue the same collectives: by the store of the job, one number at a time.

A process of this machine sees what its ranks have issued, and none what those of others have. So
after every so many collectives of a group, one rank of each machine puts the number for all of them
under a key that all share. Whoever comes first sets it, and the others read in the same operation
whether it is theirs too. What was issued is only sent where it is not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from ...report.codec import fact_as_json
from ...report.execution_order import turns
from ...report.rank_file import RankFile, Unwritten
from ...report.sequences import Sequence as Issues
from ...report.sequences import sequence_as_text, sequence_from_text
from ...vocab.facts import Fact
from .. import adapter
from .sequence import Mark, Sequence

Said = list[tuple[int, Fact]]
PAUSE = 1.0  # seconds between two looks


class Nodes:
    """``tell`` takes what two ranks do where they part, at one of the two; ``broke``, what was wrong in here."""

    def __init__(
        self,
        sequence: Sequence,
        file: RankFile | Unwritten,
        tell: Callable[[Said], None],
        broke: Callable[[Exception], None],
    ) -> None:
        self._sequence = sequence
        self._file = file
        self._tell = tell
        self._broke = broke
        self._shown: dict[str, int] = {}
        self._parted: set[str] = set()
        self._speaks: dict[str, bool] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fsdp2-lint-nodes", daemon=True)

    def start(self) -> None:
        """In a thread of its own: a store whose machine stands still must not stop anything else."""
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._over.set()
            self._thread.join(PAUSE)

    def _run(self) -> None:
        while not self._over.wait(PAUSE):
            try:
                self.look()
            except (RuntimeError, OSError):  # torch's timeouts and lost connections: the store has gone with its rank
                return
            except Exception as error:
                self._broke(error)
                return

    def look(self) -> None:
        """Nothing here waits for another rank."""
        store, token = adapter.store(), adapter.own().token
        for name, ranks in self._sequence.groups():
            if name not in self._speaks:
                self._speaks[name] = speaks(ranks)
        if store is None or not token or not any(self._speaks.values()):
            return
        for mark in self._sequence.marks():
            if self._speaks.get(mark.group) and mark.group not in self._parted:
                self._compare(store, f"issued/{token}/{mark.group}", mark)

    def _compare(self, store: Any, key: str, mark: Mark) -> None:
        if self._shown.get(mark.group) != mark.issued:
            self._shown[mark.group] = mark.issued
            own = f"{mark.rolling:x}"
            if store.compare_set(f"{key}/{mark.issued}", "", own).decode() != own:
                self._dissent(store, key, mark)
        elif store.check([f"{key}/parted"]):
            self._answer(store, key, mark)

    def _dissent(self, store: Any, key: str, mark: Mark) -> None:
        """This rank has issued something else than the first: what, another one has to see."""
        self._parted.add(mark.group)
        if (mine := self._own(mark)) is not None:
            store.compare_set(f"{key}/parted", "", sequence_as_text(mine))

    def _answer(self, store: Any, key: str, mark: Mark) -> None:
        """Some rank has parted from this one. One of those that have not says it."""
        self._parted.add(mark.group)
        own, mine = str(adapter.own_rank()), self._own(mark)
        if mine is None or store.compare_set(f"{key}/answered", "", own).decode() != own:
            return
        found = turns([mine, sequence_from_text(store.get(f"{key}/parted").decode())])
        for rank, fact in found:
            self._file.write("fact", of=rank, **fact_as_json(fact))
        self._tell(found)

    def _own(self, mark: Mark) -> Issues | None:
        return next(iter(self._sequence.own(mark.group)), None)


def speaks(ranks: tuple[int, ...]) -> bool:
    """Is this the first rank of its machine in a group that has ranks elsewhere? No where that is not known."""
    local, on_node = os.environ.get("LOCAL_RANK", ""), os.environ.get("LOCAL_WORLD_SIZE", "")
    if not (local.isdigit() and on_node.isdigit()):
        return False
    first = adapter.own_rank() - int(local)
    here = [rank for rank in ranks if first <= rank < first + int(on_node)]
    return len(here) < len(ranks) and adapter.own_rank() == min(here, default=-1)
