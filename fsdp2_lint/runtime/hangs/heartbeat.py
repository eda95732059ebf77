"""The signs of life of a rank, for those who watch it from outside."""

from __future__ import annotations

import os
from typing import Any

from ...report.hangs.beats import BeatFile, node
from ...report.hangs.farewells import fatal_of
from ...report.hangs.layers import layers_as_json
from ...report.rank_file import RankFile
from ...report.watcher.processes import born
from ...report.watcher.start import start
from .. import adapter
from ..session import Session
from ..sites import LAYERS, training_thread
from .stacks import Stacks


class Heartbeat:
    """The beats lie in a folder of the node, next to the reports. Raises OSError where that cannot be written."""

    def __init__(self, session: Session, file: RankFile, *, alone: bool) -> None:
        self._session = session
        self._folder = file.path.parent / f"node-{node()}"
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{file.path.stem}.beat"
        self._file = BeatFile(path)
        # A process that is not ours from its start may have armed the timer already, and nobody can tell.
        self._stacks = Stacks(fatal_of(file.path), path.with_suffix(".held")) if alone else None
        self._own = {"pid": os.getpid(), "born": born()}
        self._thread = 0
        self._beats = True
        self.asked = self.watched = False

    def start(self) -> None:
        self._session.file.write("layers", layers=layers_as_json(LAYERS))
        if self._stacks is not None:
            self._stacks.start(self._session.rare)

    def beat(self, pause: float, **stands: Any) -> None:
        """``stands`` is what the rank does now, and ``pause`` the seconds to the next beat."""
        if self._thread != training_thread():
            self._thread = training_thread()
            self._session.file.write("trains", thread=self._thread)
        if self._beats:
            self._write(rank=adapter.own_rank(), thread=self._thread, **self._own, **stands)
        if self._stacks is not None:
            self._stacks.put_off(pause)

    def _write(self, **values: Any) -> None:
        try:
            self._file.write(**values)
        except OSError as error:  # a full disk must not look as if the rank were dead
            self.withdraw(str(error))

    def withdraw(self, why: str) -> None:
        """The rank says no more of itself, though it goes on."""
        self._beats = self.watched = False
        self._session.file.write("unwatched", why=why)
        self._file.withdraw()

    def be_watched(self) -> None:
        """By the watcher of this node, which is started unless there is one. It may have been killed since."""
        self.asked, options = True, self._session.options
        try:
            asked = {"select": list(options.select), "ignore": list(options.ignore), "watch": options.watch}
            start(self._folder, LAYERS, patience=options.stall_after, **asked)
            self.watched = True
        except (OSError, ImportError) as error:
            self.watched = False
            self._session.file.write("unwatched", why=str(error))

    def stop(self) -> None:
        if self._stacks is not None:
            self._stacks.stop()
        try:
            self._file.end()
        except OSError as error:
            self.withdraw(str(error))
