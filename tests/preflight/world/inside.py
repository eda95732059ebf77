"""Runs a program of a user's inside the world, in a process of its own."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from fsdp2_lint.preflight.world import Depth, Limit, Place
from fsdp2_lint.runtime.launch.ranks import run_ranks

BUSY = 600.0  # seconds: nothing here takes long on a machine of its own


@dataclass(frozen=True)
class Seen:
    """``said`` is what the program left in the variable SAID; ``error`` the traceback where it failed."""

    said: Any
    limits: list[Limit]
    selected: list[Any]
    used: list[Any]
    saves: list[tuple[str, str, int]]
    peak: int  # MB
    error: str

    def limit(self, words: str) -> Limit:
        found = [each for each in self.limits if words in each.text]
        assert len(found) == 1, self.limits
        return found[0]


def rehearse(
    folder: Path,
    text: str,
    *arguments: str,
    rank: int = 3,
    world_size: int = 256,
    depth: Depth = "real",
    shared: str = "",
) -> Seen:
    """``text`` is the program. It fails here where it fails there."""
    seen = attempt(folder, text, *arguments, rank=rank, world_size=world_size, depth=depth, shared=shared)
    assert not seen.error, seen.error
    return seen


def attempt(
    folder: Path,
    text: str,
    *arguments: str,
    rank: int = 3,
    world_size: int = 256,
    depth: Depth = "real",
    shared: str = "",
) -> Seen:
    script = folder / "train.py"
    script.write_text(dedent(text))
    return run(script, *arguments, rank=rank, world_size=world_size, depth=depth, shared=shared)


def run(
    script: Path,
    *arguments: str,
    rank: int = 3,
    world_size: int = 256,
    depth: Depth = "real",
    shared: str = "",
) -> Seen:
    place = Place(rank, world_size, 8)
    (outcome,) = run_ranks(_inside, 1, str(script), arguments, place, depth, shared, timeout=BUSY)
    assert outcome.result is not None, outcome.error
    seen: Seen = outcome.result
    return seen


def _inside(script: str, arguments: tuple[str, ...], place: Place, depth: Depth, shared: str) -> Seen:
    import os
    import resource
    import traceback

    from fsdp2_lint.preflight.world import Save, enter
    from fsdp2_lint.runtime.launch.program import Program

    os.chdir(Path(script).parent)
    world = enter(place, depth, Path(shared) if shared else None)
    saves: list[tuple[str, str, int]] = []

    def told(save: Save) -> None:
        saves.append((save.by, save.target, save.site.row))

    world.tell_saves(told)
    program, error = Program(script, arguments), ""
    program.prepare()

    def run_script() -> None:
        program.execute()

    try:
        run_script()
    except BaseException:
        error = traceback.format_exc()
    said = vars(sys.modules["__main__"]).get("SAID")
    devices = world.devices
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Seen(said, world.limits, list(devices.selected), list(devices.used), saves, peak, error)
