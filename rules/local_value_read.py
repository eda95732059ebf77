"""FSDP603: a reduction over shards is read only after it is complete."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.training import ValueRead
from fsdp2_lint.vocab.rule import JUDGED, Outcome, Rule, Severity


class LocalValueRead(Rule):
    code = "FSDP603"
    name = "local-value-read"
    summary = "item(), float() or a condition on a DTensor of which each rank holds a part"
    severity = Severity.ERROR
    witnesses = "R"
    help = "call full_tensor() first, on all ranks"

    def read(self, event: ValueRead) -> Iterator[Outcome]:
        yield JUDGED
        partial = event.reading.partial()
        if partial:
            yield self.found(
                event.when,
                f"{event.reading.name} reads this rank's part of a {partial.what} DTensor: ranks get different numbers",
                "the parts of the other ranks are missing",
            )
