"""FSDP305: each module is sharded once."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import Sharded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ShardedTwice(Rule):
    code = "FSDP305"
    summary = "fully_shard is applied twice to one module"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "remove one of the two calls, or guard it with isinstance(module, FSDPModule)"

    def sharded(self, event: Sharded) -> Outcomes:
        yield APPLIES
        if earlier := event.unit.repeated():
            yield self.found_order(
                (earlier.what, "it is sharded here first"),
                (event.when, "and here again"),
                f"{event.unit.label} is sharded twice: fully_shard raises an AssertionError",
                blame="late",
                cause="early",
            )
