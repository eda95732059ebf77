"""Words that several formats share."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.facts import in_words
from fsdp2_lint.vocab.finding import Finding


def context(finding: Finding) -> Iterator[str]:
    """What a job adds to a finding: on which ranks it was seen, and how it stands to the source."""
    if (seen := finding.observed) is not None:
        step = f", step {seen.step}" if seen.step is not None else ""
        yield f"{in_words(seen.ranks)}{step}{f', {seen.fqn}' if seen.fqn else ''}"
    if finding.standing:
        yield finding.standing
