"""What became of findings: fixed, gone, remaining, silenced instead of fixed, removed with their code; and what is new.

An edit that makes a finding disappear is no proof of a mend. So each finding that is gone is looked for once more
without comments, baseline, ignores and excludes, for the same torch. It is fixed if its rule is upheld now for the
same model; else it is gone, and that ends well only if no less is seen than before (:mod:`fsdp2_lint.findings.sight`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.copies import as_here
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.findings.sight import standing
from fsdp2_lint.settings import Settings
from fsdp2_lint.static.frontend.pins import pinned_torch
from fsdp2_lint.vocab.target import nearest_known

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding

Check = Callable[[Sequence[str], Asked], Report]


@dataclass(frozen=True, slots=True)
class Gone:
    """A finding of before that is not reported any more, and how that stands.

    ``as_before``: no less is seen than before the edit of what it is about.
    """

    finding: Finding
    verdict: str = ""  # upheld, unknown, violated, not judged or not seen
    reasons: tuple[str, ...] = ()
    as_before: bool = False


@dataclass(slots=True)
class Comparison:
    """``report`` is of now. ``gone``, ``silenced`` and ``removed`` are not proved to be fixed; ``reasons`` say why.

    ``copy_of`` is the folder that the findings were of, if that was another copy of the project.
    """

    report: Report
    copy_of: str = ""
    fixed: list[Gone] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)
    remaining: list[Finding] = field(default_factory=list)
    silenced: list[Gone] = field(default_factory=list)
    removed: list[Gone] = field(default_factory=list)
    new: list[Finding] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        hidden = [each for each in self.gone if not each.as_before]
        return not (hidden or self.remaining or self.silenced or self.removed or self.new)


def compare(before: Sequence[Finding], paths: Sequence[str], asked: Asked, check: Check) -> Comparison:
    """Judge ``paths`` as ``asked`` and say what became of the findings ``before``."""
    report = check(paths, asked)
    before, copy_of = as_here(before, report.root)
    result = Comparison(report, copy_of)
    result.remaining, gone, result.new = _pair(before, report.findings)
    if not gone:
        return result
    bare = check(_with_files(paths, gone), _bare(asked, report, before))
    still = [*bare.findings, *bare.silenced, *bare.known, *bare.set_aside]
    _, _, rest = _pair(result.remaining, still)  # what is reported anyhow explains nothing that is gone
    _, mended, _ = _pair(gone, rest)
    hidden = [finding for finding in gone if finding not in mended]
    result.silenced = [Gone(finding, reasons=(_hidden_by(finding, report),)) for finding in hidden]
    for finding in mended:
        if not bare.models and any(seen.kind == "model" for seen in finding.about):
            result.removed.append(Gone(finding, "not judged", ("no model is sharded with FSDP2 any more",)))
        else:
            found = standing(finding, bare)
            told = result.fixed if found.proved else result.gone
            told.append(Gone(finding, found.verdict, found.reasons, found.as_before))
    return result


def _pair(before: Iterable[Finding], now: Iterable[Finding]) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """Those of now that were there before, those of before that are gone, and those of now that are new.

    The same fingerprint first; then the same words in the same file; then the same code in the same file: of a fault
    that was moved about, nobody can say that it is mended.
    """
    same: list[Finding] = []
    gone, new = list(before), list(now)
    for key in (
        lambda finding: (finding.code, finding.fingerprint or finding.key),
        lambda finding: (finding.code, finding.primary.site.path, finding.message),
        lambda finding: (finding.code, finding.primary.site.path),
    ):
        left = []
        for finding in gone:
            found = next((each for each in new if key(each) == key(finding)), None)
            if found is None:
                left.append(finding)
            else:
                same.append(found)
                new.remove(found)
        gone = left
    return same, gone, new


def _with_files(paths: Sequence[str], findings: Iterable[Finding]) -> list[str]:
    """Also files that a setting leaves out by now."""
    named = dict.fromkeys(site.path for finding in findings for site in finding.sites)
    return [*paths, *(path for path in named if os.path.isfile(path))]


def _bare(asked: Asked, report: Report, before: Sequence[Finding]) -> Asked:
    """The same without anything that hides findings, and with all rules, which say whether anything is sharded.

    Another torch that is stated now is no mend; one that the project's dependencies pin is the program's own.
    """
    given = report.settings
    spoken_for = {seen.torch for finding in before for seen in finding.about if seen.torch is not None}
    pinned = pinned_torch(Path(report.root))
    if len(spoken_for) == 1 and (pinned is None or nearest_known(pinned) != report.target):
        asked = replace(asked, target=spoken_for.pop())
    settings = Settings(
        source_roots=given.source_roots,
        entry_points=given.entry_points,
        target_torch=given.target_torch,
        respect_gitignore=False,
        file=given.file,
    )
    return replace(
        asked, select=("ALL",), extend_select=(), ignore=(), settings=settings, baseline=None, force_exclude=False
    )


def _hidden_by(finding: Finding, report: Report) -> str:
    for hidden, why in (
        (report.silenced, "a comment silences it"),
        (report.known, "the baseline holds it"),
        (report.set_aside, "per-file-ignores leaves it out"),
    ):
        if _pair([finding], hidden)[0]:
            return why
    if finding.primary.site.path not in report.files:
        return "its file is not among those that were checked"
    return "a setting or an option leaves it out"
