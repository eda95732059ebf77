"""One mistake gives one finding: which clause owns a fault that several can see."""

from __future__ import annotations

from collections.abc import Mapping

from .finding import Finding

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
