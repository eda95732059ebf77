"""A file of findings that a project knows and puts up with. Each survives that lines move; new ones are reported."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp2_lint.errors import BadSetting

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding

DEFAULT = "fsdp2-lint-baseline.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Baseline:
    """``file`` need not exist before it is written."""

    file: Path
    fingerprints: frozenset[str] = frozenset()

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """BadSetting if the file is not there or was not written by :func:`write`."""
        try:
            held = json.loads(file.read_text(encoding="utf-8"))
            if held["version"] != VERSION:
                raise BadSetting(f"{file}: is of version {held['version']}, and this tool reads {VERSION}")
            return cls(file, frozenset(each["fingerprint"] for each in held["findings"]))
        except OSError as error:
            raise BadSetting(f"{file}: the baseline cannot be read: {error.strerror or error}") from None
        except (ValueError, LookupError, TypeError, AttributeError):
            raise BadSetting(f"{file}: is no baseline; --update-baseline writes one") from None

    def knows(self, finding: Finding) -> bool:
        return finding.fingerprint in self.fingerprints

    def gone(self, found: Iterable[Finding]) -> int:
        """How many entries fit nothing that was found."""
        return len(self.fingerprints - {finding.fingerprint for finding in found})


def as_text(findings: Iterable[Finding], folder: Path) -> str:
    """What :meth:`Baseline.read` reads, in the same order each time, with what a reviewer wants to see."""
    entries = [
        {
            "code": finding.code,
            "path": Path(os.path.relpath(finding.primary.site.path, folder)).as_posix(),
            "message": finding.message,
            "fingerprint": finding.fingerprint,
        }
        for finding in findings
    ]
    entries.sort(key=lambda entry: (entry["path"], entry["code"], entry["message"], entry["fingerprint"]))
    return json.dumps({"version": VERSION, "findings": entries}, indent=2) + "\n"
