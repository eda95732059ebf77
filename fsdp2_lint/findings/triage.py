"""Which findings are shown: severities, selection, per-file ignores, baseline, comments. In this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fsdp2_lint.catalogue.registry import Selection
from fsdp2_lint.errors import CostsOnly
from fsdp2_lint.files.patterns import PerFile
from fsdp2_lint.findings.baseline import Baseline
from fsdp2_lint.findings.outcome import Triaged
from fsdp2_lint.findings.suppress import Comments
from fsdp2_lint.settings import Settings
from fsdp2_lint.vocab.finding import Finding


def triage(
    findings: Iterable[Finding],
    selection: Selection,
    settings: Settings,
    baseline: Baseline | None,
    comments: Comments,
    broke: Callable[[str, str], object],
) -> Triaged:
    """``broke`` is told of each finding that is shown since a defect hides whether a comment silences it."""
    told = Triaged()
    per_file = PerFile(settings.path("."), settings.per_file_ignores)
    for finding in map(selection.graded, findings):
        silent = False
        with CostsOnly(f"the comments for {finding.code} in {finding.primary.site.path}", broke):
            silent = comments.silence(finding)  # of every finding, so that a comment that is needed counts as used
        if not selection.shows(finding):
            continue
        if silent:
            told.silenced.append(finding)
        elif per_file.ignores(finding.code, finding.primary.site.path):
            told.set_aside.append(finding)
        elif baseline is not None and baseline.knows(finding):
            told.known.append(finding)
        else:
            told.findings.append(finding)
    return told
