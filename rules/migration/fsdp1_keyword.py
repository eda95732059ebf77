"""FSDP902: ``fully_shard`` takes none of FSDP1's keywords."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import KeywordPassed
from fsdp2_lint.vocab.fsdp1 import KEYWORDS
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class Fsdp1Keyword(Rule):
    code = "FSDP902"
    summary = "a keyword of FSDP1 is passed to fully_shard"
    severity = Severity.ERROR
    judged_by = "S"
    help = "use the FSDP2 keyword that says the same"

    def passed(self, event: KeywordPassed) -> Outcomes:
        yield APPLIES
        if event.keyword in KEYWORDS:
            yield self.found(
                event.when,
                f"{event.keyword}= is a keyword of FSDP1: fully_shard raises a TypeError",
                f"FSDP2 has instead: {KEYWORDS[event.keyword]}",
                fix=event.fix,
                cause=(event.keyword, event.mapping) if event.mapping is not None else None,
            )
