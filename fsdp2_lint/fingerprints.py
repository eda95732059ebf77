"""What stays the same of a finding when lines move: for baselines, for ``verify``, and for the services of others."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from fsdp2_lint.source import Sources

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding

LENGTH = 16


def with_fingerprints(findings: Iterable[Finding], root: str, sources: Sources) -> list[Finding]:
    """Each finding knows its own: code, path below the root, the words of its line, and which of several such it is."""
    seen: Counter[tuple[str, str, str]] = Counter()
    told = []
    for finding in sorted(findings, key=lambda finding: finding.primary.site):
        site = finding.primary.site
        path = os.path.relpath(site.path, root).replace(os.sep, "/")
        words = " ".join((sources.line(site.path, site.row) or "").split())
        key = (finding.code, path, words)
        digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode(errors="surrogateescape"))
        seen[key] += 1
        told.append(replace(finding, fingerprint=digest.hexdigest()[:LENGTH]))
    return told
