"""The torch that a run judges for, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fsdp2_lint.static.frontend.pins import pinned_torch
from fsdp2_lint.vocab.target import NEWEST, OLDEST, Version, in_digits, in_words, nearest_known


@dataclass(frozen=True, slots=True)
class Target:
    """``own`` is what the project itself says, known or not. ``note`` says that another version stands in for it."""

    version: Version
    own: Version
    source: str
    note: str = ""


def target(root: str, option: Version | None, setting: Version | None) -> Target:
    """In this order: what was asked for, what the settings say, what the project's dependencies pin, the newest."""
    pinned = pinned_torch(Path(root)) if setting is None else None
    own = setting or pinned or NEWEST
    if option is not None:
        return Target(option, own, "the option --target-torch")
    if setting is not None:
        return Target(setting, own, "the setting target-torch")
    if pinned is None:
        return Target(own, own, "the newest known")
    return _of_pin(pinned)


def _of_pin(pinned: Version) -> Target:
    version = nearest_known(pinned)
    if version == pinned:
        return Target(version, pinned, "pinned by the project")
    known = f"{in_digits(OLDEST)} to {in_digits(NEWEST)}"
    note = f"{in_words(pinned)}, which the project pins, is not known ({known}): judged for {in_words(version)}"
    return Target(version, pinned, f"in place of {in_digits(pinned)}, which the project pins and is not known", note)
