"""A file of findings that a project knows and puts up with. Each survives that lines move; new ones are reported."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp2_lint.errors import BadSetting
from fsdp2_lint.files.discovery import below, project_root
from fsdp2_lint.files.reading import REPORT_BYTES, read, reason_of

if TYPE_CHECKING:
    from fsdp2_lint.files.discovery import Discovered
    from fsdp2_lint.settings import Settings
    from fsdp2_lint.vocab.finding import Finding

DEFAULT = "fsdp2-lint-baseline.json"
WRITES = "--update-baseline"
VERSION = 1


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """The fingerprint decides; the rest is for whoever reviews the file. ``path`` is relative to its folder."""

    path: str
    code: str
    message: str
    fingerprint: str

    @classmethod
    def of(cls, finding: Finding, folder: Path) -> Entry:
        path = Path(os.path.relpath(finding.primary.site.path, folder)).as_posix()
        return cls(path, finding.code, finding.message, finding.fingerprint)


@dataclass(frozen=True)
class Baseline:
    """``data`` is what the file held; None if it is not there yet."""

    file: Path
    entries: tuple[Entry, ...] = ()
    data: bytes | None = None

    @classmethod
    def set_in(cls, given: Settings, paths: Iterable[str]) -> Baseline | None:
        """The one that the settings of these paths name."""
        if given.baseline is None:
            return None
        file = given.path(given.baseline)
        return cls.read(file, what_writes(file, given, paths))

    @classmethod
    def read(cls, file: Path, writes: str = WRITES) -> Baseline:
        """BadSetting if the file is not there or is not what :func:`as_text` makes. ``writes`` is what to say."""
        try:
            data = read(file, REPORT_BYTES)
            held = json.loads(data.decode("utf-8"))
            if held["version"] != VERSION:
                raise BadSetting(f"{file}: is of version {held['version']}, and this tool reads {VERSION}")
            entries = tuple(Entry(**{key: str(value) for key, value in each.items()}) for each in held["findings"])
        except FileNotFoundError:
            raise BadSetting(f"{file}: there is no such baseline; {writes} writes it") from None
        except OSError as error:
            raise BadSetting(f"{file}: the baseline {reason_of(error)}") from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise BadSetting(f"{file}: is not a baseline; without this file, {writes} writes one") from None
        return cls(file, entries, data)

    @cached_property
    def _fingerprints(self) -> frozenset[str]:
        return frozenset(entry.fingerprint for entry in self.entries)

    def knows(self, finding: Finding) -> bool:
        return finding.fingerprint in self._fingerprints

    def gone(self, found: Iterable[Finding], judged: Collection[str], given: Discovered) -> list[Entry]:
        """Entries of what was given, of codes that were judged, that fit nothing of what was found.

        Of a file that is there it must have been looked at; one that is not must have lain in a folder that was given.
        """
        there = {finding.fingerprint for finding in found}
        files = {*given.files}
        return [
            entry
            for entry in self.entries
            if entry.code in judged and entry.fingerprint not in there
            if (path := self.path(entry)) in files or not os.path.lexists(path) and given.holds(path)
        ]

    def path(self, entry: Entry) -> str:
        return os.path.realpath(self.file.parent / entry.path)


def what_writes(file: Path, given: Settings, paths: Iterable[str]) -> str:
    """The options that write the baseline of these settings.

    Settings come with the project, which may be anybody's: they do not choose files elsewhere to be written.
    """
    if given.file is None or "\0" in str(file):  # which is no name of a file, as reading it says
        return WRITES
    own = (project_root(paths), os.path.realpath(given.file.parent))
    if any(below(os.path.realpath(file), folder) for folder in own):
        return WRITES
    return f"{WRITES} --baseline {shlex.quote(os.path.relpath(file))}"


def as_text(entries: Iterable[Entry]) -> str:
    """What :meth:`Baseline.read` reads, in the same order each time."""
    held = {"version": VERSION, "findings": [asdict(entry) for entry in sorted({*entries})]}
    return json.dumps(held, indent=2) + "\n"
