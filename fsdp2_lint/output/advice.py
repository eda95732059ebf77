"""Findings as JSON for whoever mends them: what to do, what only looks like a mend, and how to see that it worked."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from fsdp2_lint.catalogue import pages
from fsdp2_lint.files import syntax
from fsdp2_lint.files.discovery import ROOT_MARKERS, project_root
from fsdp2_lint.files.source import display_path, line_of
from fsdp2_lint.findings import unused
from fsdp2_lint.output import JSON_VERSION
from fsdp2_lint.report.codec import finding_as_json
from fsdp2_lint.report.confirm import CONFIRMED
from fsdp2_lint.vocab.finding import Finding

SILENCING = "Do not silence it with a comment, a baseline or a setting: that hides the fault and does not fix it."


def findings_as_json(findings: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """Each as the rest of the tool writes it, with ``remediation``, ``do_not``, ``verify`` and what its fix may do."""
    page_of = cache(pages.page_if_any)
    for finding in findings:
        values, page = {"version": JSON_VERSION, **finding_as_json(finding)}, page_of(finding.code)
        if finding.fix is not None:
            values["fix"]["applicability"] = "safe" if finding.fix.safe else "unsafe"
        first = f"{line_of(finding.primary.site)}: {finding.help}"
        values["remediation"] = [first, *pages.paragraphs(page, "How to fix")]
        values["do_not"] = [*pages.items(page, "Wrong fixes"), SILENCING]
        values["verify"] = verify(finding)
        yield values


def verify(finding: Finding) -> str:
    """The command that finds it again if it is not mended.

    A fault may begin in another file than the one that it is reported in, so that file alone does not do: the whole
    project is checked.
    """
    path = finding.primary.site.path
    if finding.observed is not None and not finding.standing.startswith(CONFIRMED):
        return "fsdp2-lint run --check SCRIPT"  # the source alone does not show it
    if finding.code == unused.CODE:  # which is about the other codes: none of them may be left out
        return shlex.join(["fsdp2-lint", "check", _project(path)])
    # A file that is not Python is read only if it is named, unless it speaks of FSDP2.
    target = display_path(path) if finding.code == syntax.CODE else _project(path)
    return shlex.join(["fsdp2-lint", "check", "--select", finding.code, target])


def _project(path: str) -> str:
    """What has to be checked to see all that may bear on a file, as it is written from here."""
    root, here = project_root([path]), os.path.realpath(os.curdir)
    marked = any(os.path.exists(os.path.join(root, marker)) for marker in ROOT_MARKERS)
    if root == here or (not marked and display_path(path) != path):
        return os.curdir
    return display_path(root)
