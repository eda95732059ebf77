"""FSDP809: a shuffling DistributedSampler is told which epoch it is."""

from __future__ import annotations

from fsdp2_lint.vocab.events.ranks import LoaderRead
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SamplerEpochNotSet(Rule):
    code = "FSDP809"
    summary = "a DistributedSampler uses the same order in every epoch because nothing calls set_epoch()"
    severity = Severity.WARNING
    judged_by = "S"
    help = "call sampler.set_epoch(epoch) at the beginning of each epoch"

    def read(self, event: LoaderRead) -> Outcomes:
        yield APPLIES
        if sampler := event.epochs.same_order():
            yield self.found(
                event.when,
                "every epoch reads the data in the same order, and each rank the same part of it: "
                "no epoch calls set_epoch() on the DistributedSampler",
                "each epoch goes through the loader here",
                (sampler.what.when, sampler.what.words),
            )
