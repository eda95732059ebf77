"""FSDP805: what ranks hold in common stays equal."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.facts import Facts, in_words, parties
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class ReplicaDrift(Rule):
    code = "FSDP805"
    name = "replica-drift"
    summary = "replicas of a model, or buffers, are no longer equal on all ranks"
    severity = Severity.ERROR
    witnesses = "R"
    compares = "replicas"
    help = "change weights and buffers on all ranks in the same way, and reduce what is computed from local data"

    def compare(self, facts: Facts) -> Iterator[Outcome]:
        yield APPLIES
        some = next(iter(facts.values()))
        for name in sorted(some.values, key=lambda name: name.endswith(_STATISTICS)):
            sides = parties(facts, name)
            if len(sides) < 2:
                continue
            differ = f"{name} differs between {in_words(sides[0])} and {in_words(sides[1])}"
            if some.traits["what"] == "weights":
                yield self.found(
                    some.when,
                    f"{differ} after this step: the replicas of an HSDP mesh train apart",
                    "the replicas differ once this step is made",
                    *((place, "they are sharded here") for known, place in some.places.items() if known == name),
                )
            elif name.endswith(_STATISTICS):
                message = f"the running statistics of each rank are its own ({differ}): a checkpoint keeps one of them"
                yield self.found(some.when, message, "the model is sharded here", severity=Severity.INFO)
            else:
                message = f"the buffer {differ}: FSDP2 does not synchronise buffers, and a checkpoint keeps one of them"
                yield self.found(some.when, message, "the model is sharded here", severity=Severity.WARNING)
            return
