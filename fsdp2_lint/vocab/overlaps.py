"""One mistake gives one finding: which rule owns a fault that several can see, and one cause at many places."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

from .finding import Edit, Finding, Fix, Label, Site

Programs = Mapping[tuple[str, str, int], set[str]]
"""For the key of each finding, the programs in which it was found."""

# Where the first is found, the second is its consequence if they share a place, or (True) wherever
# they are in one program.
OWNERS: tuple[tuple[str, str, bool], ...] = (
    ("FSDP104", "FSDP101", True),
    ("FSDP103", "FSDP101", True),
    ("FSDP106", "FSDP808", True),
    ("FSDP201", "FSDP204", True),
    ("FSDP201", "FSDP203", True),
    ("FSDP202", "FSDP705", True),
    ("FSDP207", "FSDP201", True),
    ("FSDP203", "FSDP805", True),
    ("FSDP204", "FSDP805", True),
    ("FSDP305", "FSDP302", False),
    ("FSDP304", "FSDP320", True),
    ("FSDP308", "FSDP805", True),
    ("FSDP316", "FSDP405", True),
    ("FSDP316", "FSDP613", True),
    ("FSDP316", "FSDP203", True),
    ("FSDP301", "FSDP319", True),
    ("FSDP303", "FSDP319", True),
    ("FSDP303", "FSDP301", False),  # each block that is sharded alone looks like a root of one group
    ("FSDP304", "FSDP611", True),
    ("FSDP401", "FSDP402", True),
    ("FSDP316", "FSDP802", True),
    ("FSDP405", "FSDP613", True),
    ("FSDP405", "FSDP802", True),
    ("FSDP403", "FSDP402", False),
    ("FSDP405", "FSDP801", False),
    ("FSDP407", "FSDP318", True),
    ("FSDP407", "FSDP614", False),
    ("FSDP601", "FSDP611", True),
    ("FSDP602", "FSDP611", True),
    ("FSDP602", "FSDP407", True),
    ("FSDP604", "FSDP614", False),
    ("FSDP604", "FSDP620", True),
    ("FSDP611", "FSDP620", True),
    ("FSDP613", "FSDP620", True),
    ("FSDP613", "FSDP802", True),
    ("FSDP615", "FSDP604", False),
    ("FSDP616", "FSDP805", True),
    ("FSDP617", "FSDP805", True),
    ("FSDP701", "FSDP714", False),
    ("FSDP704", "FSDP703", True),
    ("FSDP705", "FSDP320", True),
    ("FSDP705", "FSDP703", False),
    ("FSDP706", "FSDP802", True),
    ("FSDP712", "FSDP710", False),
    ("FSDP712", "FSDP714", False),
    ("FSDP713", "FSDP710", False),  # what comes back is that of another stage
    ("FSDP801", "FSDP617", False),  # who turns away does not set the number behind that either
    ("FSDP801", "FSDP802", True),
    ("FSDP801", "FSDP803", True),
    ("FSDP804", "FSDP802", True),
    ("FSDP808", "FSDP812", True),
    ("FSDP904", "FSDP701", True),
    ("FSDP806", "FSDP801", False),
    ("FSDP806", "FSDP802", False),
)


def without_consequences(findings: list[Finding], programs: Programs) -> list[Finding]:
    dropped: set[tuple[str, str, int]] = set()
    for owner, consequence, anywhere in OWNERS:
        causes = [finding for finding in findings if finding.code == owner]
        places = {cause.primary.site for cause in causes}
        explained = {program for cause in causes for program in programs.get(cause.key, ())}
        for finding in findings:
            if finding.code != consequence:
                continue
            shares = not places.isdisjoint(finding.sites)
            in_reach = programs.get(finding.key, set()) <= explained if anywhere else shares
            if in_reach:
                dropped.add(finding.key)
    return [finding for finding in findings if finding.key not in dropped]


# -- one cause gives one finding, however many places it is met at.
#
# A rule names what one edit would mend (``cause``): the statement that makes the wrong object, the condition that
# keeps
# ranks apart. Findings with the same one are told together: the first place, a few of the others, and how many there
# are.
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
