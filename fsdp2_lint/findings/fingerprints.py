"""What stays the same of a finding when lines move: for baselines, for ``verify``, and for the services of others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from fsdp2_lint.files.source import Sources

if TYPE_CHECKING:
    from fsdp2_lint.settings import Settings
    from fsdp2_lint.vocab.finding import Finding

LENGTH = 16


def with_fingerprints(findings: Iterable[Finding], base: str, sources: Sources) -> list[Finding]:
    """Each finding knows its own: code, path from ``base``, the words of its line, and which of several such it is.

    A comment is none of the words: one that silences the finding, or that says what is checked, changes nothing.
    """
    import hashlib  # which most runs, of files without FSDP2, need not load

    seen: Counter[tuple[str, str, str]] = Counter()
    told = []
    for finding in sorted(findings, key=lambda finding: finding.primary.site):
        site = finding.primary.site
        path = os.path.relpath(site.path, base).replace(os.sep, "/")
        # A # in a text ends the words too early, which does no harm: what is alike is counted.
        words = " ".join((sources.line(site.path, site.row) or "").partition("#")[0].split())
        key = (finding.code, path, words)
        digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode(errors="surrogatepass"))
        seen[key] += 1
        told.append(replace(finding, fingerprint=digest.hexdigest()[:LENGTH]))
    return told


def by_place(finding: Finding) -> tuple[str, int, int, int, str, str]:
    """The order in which findings are told."""
    site = finding.primary.site
    return site.path, site.cell, site.row, site.column, finding.code, finding.message


def base_of(root: str, settings: Settings) -> str:
    """What paths in fingerprints are relative to: the same whichever part of a project is checked.

    The folder of the settings, which name the baseline; else the repository; else the project.
    """
    if settings.file is not None:
        return str(settings.file.parent)
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return root
        folder = parent
    return folder
