"""FSDP609: a model is copied before it is sharded, not after."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import Copied
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class DeepcopyAfterSharding(Rule):
    code = "FSDP609"
    summary = "copy.deepcopy() or AveragedModel() on a sharded model, which FSDP2 refuses"
    severity = Severity.ERROR
    judged_by = "S"
    help = "copy the model before fully_shard and shard both, or clone its sharded parameters one by one"

    def copied(self, event: Copied) -> Outcomes:
        yield APPLIES
        if calls := event.model.units():
            yield self.found(
                event.when,
                f"{event.by} on {event.model.label}, which is sharded: this raises AssertionError",
                "a sharded module cannot be copied",
                (calls.items[0], "fully_shard is called on it here"),
            )
