"""FSDP603: a reduction over shards is read only after it is complete."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import ValueRead
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity
from fsdp2_lint.vocab.target import in_words


class LocalValueRead(Rule):
    code = "FSDP603"
    summary = "item(), float() or a condition on a DTensor of which each rank holds a part"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "call full_tensor() first, on all ranks"

    def read(self, event: ValueRead) -> Outcomes:
        only = event.reading.in_some_versions()
        if only and not only.what.of(self.target):
            return
        yield APPLIES
        if partial := event.reading.partial():
            placement, computed = partial.what
            said = f"; in {in_words(self.target)} {only.what.words}" if only else ""
            sharding = event.reading.sharding()
            because = [(sharding.what.when, sharding.what.words)] if sharding.surely else []
            yield self.found(
                event.when,
                f"{event.reading.name} reads this rank's part of a {placement} DTensor: ranks get different numbers"
                f"{said}",
                "the parts of the other ranks are missing",
                *because,
                cause=computed,
            )
