"""FSDP603: a reduction over shards is read only after it is complete."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.behaviour import NORM_OF_CLIPPING_IS_PARTIAL
from fsdp2_lint.vocab.events.training import ValueRead
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity
from fsdp2_lint.vocab.target import in_words


class LocalValueRead(Rule):
    code = "FSDP603"
    name = "local-value-read"
    summary = "item(), float() or a condition on a DTensor of which each rank holds a part"
    severity = Severity.ERROR
    witnesses = "SR"
    help = "call full_tensor() first, on all ranks"

    def read(self, event: ValueRead) -> Iterator[Outcome]:
        clipped = event.reading.clipped()
        if clipped and not NORM_OF_CLIPPING_IS_PARTIAL.of(self.target):
            return
        yield APPLIES
        partial = event.reading.partial()
        if partial:
            placement, computed = partial.what
            said = f"; in {in_words(self.target)} clip_grad_norm_ returns its norm like that" if clipped else ""
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
