"""FSDP603: a reduction over shards is read only after it is complete."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.training import ValueRead
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity
from fsdp2_lint.vocab.target import Version

CLIPPED_PARTIAL: Version = (2, 9)
"""The last version of which it is known that ``clip_grad_norm_`` returns a partial norm; in 2.13 it does not."""


class LocalValueRead(Rule):
    code = "FSDP603"
    name = "local-value-read"
    summary = "item(), float() or a condition on a DTensor of which each rank holds a part"
    severity = Severity.ERROR
    witnesses = "SR"
    help = "call full_tensor() first, on all ranks"

    def read(self, event: ValueRead) -> Iterator[Outcome]:
        if event.reading.clipped() and self.target > CLIPPED_PARTIAL:
            return
        yield APPLIES
        partial = event.reading.partial()
        if partial:
            placement, computed = partial.what
            sharding = event.reading.sharding()
            because = [(sharding.what.when, sharding.what.words)] if sharding.surely else []
            yield self.found(
                event.when,
                f"{event.reading.name} reads this rank's part of a {placement} DTensor: ranks get different numbers",
                "the parts of the other ranks are missing",
                *because,
                cause=computed,
            )
