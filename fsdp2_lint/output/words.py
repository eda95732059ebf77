"""Words that several formats share."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.files.source import line_of, place
from fsdp2_lint.output.terminal import clean
from fsdp2_lint.vocab.facts import in_words
from fsdp2_lint.vocab.finding import Finding


def context(finding: Finding) -> Iterator[str]:
    """What a job adds to a finding: on which ranks it was seen, and how it stands to the source."""
    if (seen := finding.observed) is not None:
        step = f", step {seen.step}" if seen.step is not None else ""
        yield f"{in_words(seen.ranks)}{step}{f', {seen.fqn}' if seen.fqn else ''}"
    if finding.standing:
        yield finding.standing


def claim(finding: Finding) -> str:
    """What is wrong, for services that show the place themselves. They know lines of files, no cells of notebooks."""
    at = finding.primary.site
    return clean(f"{place(at)}: {finding.message}" if at.cell else finding.message)


def proof(finding: Finding) -> Iterator[str]:
    """What stands behind the message, and what to do."""
    for label in finding.related:
        yield clean(f"{line_of(label.site)}: {label.message}")
    for words in context(finding):
        yield f"seen: {clean(words)}"
    yield f"help: {clean(finding.help)}"


def story(finding: Finding) -> str:
    """The finding without source lines, for services that show them themselves."""
    head = clean(f"{place(finding.primary.site)}: {finding.code} {finding.message}")
    return "\n  ".join([head, *proof(finding)])
