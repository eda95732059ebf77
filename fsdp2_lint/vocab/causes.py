"""One cause gives one finding, however many places it is met at.

A rule names what one edit would mend (``cause``): the statement that makes the wrong object, the condition that keeps
ranks apart. Findings with the same one are told together: the first place, a few of the others, and how many there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from .finding import Edit, Finding, Fix, Label, Site

SHOWN = 4  # other places that a finding shows; it counts them all


def one_for_each_cause(findings: Iterable[Finding]) -> list[Finding]:
    """In the order in which the causes are met first; findings that name no cause stay as they are."""
    met: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        cause = ("cause", finding.code, finding.severity, finding.cause)
        met.setdefault(finding.key if finding.cause is None else cause, []).append(finding)
    return [_together(found) for found in met.values()]


def _together(found: list[Finding]) -> Finding:
    """The first of them, which tells of the places of the others too."""
    first, *others = found
    places = dict.fromkeys(each.primary.site for each in others)
    if not places:
        return replace(first, cause=None)
    told = [Label(site, "the same here") for site in places if site not in first.sites]
    count = f"{len(places)} other place{'s' if len(places) > 1 else ''}"
    return replace(
        first,
        cause=None,
        message=f"{first.message} (here and at {count})",
        related=(*first.related, *told[:SHOWN]),
        also=tuple(places),
        about=tuple({seen.identity: seen for finding in reversed(found) for seen in finding.about}.values()),
        fix=_fix(found),
    )


def _fix(found: list[Finding]) -> Fix | None:
    """The edits of all places. Where two of them touch one text, the later one has its turn when the first is made."""
    fixes = [finding.fix for finding in found if finding.fix is not None]
    edits: dict[Edit, None] = {}
    for fix in fixes:
        if not any(_touch(mine.site, other.site) for mine in fix.edits for other in edits if mine != other):
            edits.update(dict.fromkeys(fix.edits))
    return Fix(tuple(edits), safe=all(fix.safe for fix in fixes)) if fixes else None


def _touch(one: Site, other: Site) -> bool:
    starts = [(site.row, site.column) for site in (one, other)]
    ends = [(site.end_row, site.end_column) for site in (one, other)]
    return one.path == other.path and max(starts) <= min(ends)
