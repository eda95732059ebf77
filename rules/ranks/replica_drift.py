"""FSDP805: what ranks hold in common stays equal."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import AT_FIRST, Fact, Facts, in_words, parties
from fsdp2_lint.vocab.finding import Finding
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity

_SMALL = 0.01  # of the way: rounding is a millionth of it, and the gradient of other activations a tenth or more
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class ReplicaDrift(Rule):
    code = "FSDP805"
    summary = "replicas of a model, copies along tensor parallelism, or buffers are no longer equal on all ranks"
    severity = Severity.ERROR
    judged_by = "R"
    compares = "replicas"
    help = "change weights and buffers on all ranks in the same way, and reduce what is computed from local data"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        for name in sorted(some.values, key=lambda name: name.endswith(_STATISTICS)):
            sides = parties(facts, name)
            if len(sides) < 2 or name.endswith(AT_FIRST) or len(parties(facts, name + AT_FIRST)) > 1:
                continue  # what was different from the start is so on purpose, or another rule says it
            if some.traits["what"] == "copies" and _by_rounding(facts, name):
                continue
            differ = f"{name} differs between {in_words(sides[0])} and {in_words(sides[1])}"
            yield (
                self._buffer(some, name, differ)
                if some.traits["what"] == "buffers"
                else self._weights(some, name, differ)
            )
            return

    def _weights(self, some: Fact, name: str, differ: str) -> Finding:
        if some.traits["what"] == "weights":
            what, who = "the replicas of an HSDP mesh train apart", "replicas"
        else:
            what = "each tensor-parallel rank trains its own copy, by the gradient of its own part of the activations"
            who = "copies"
        return self.found(
            some.when,
            f"{differ} after this step: {what}",
            f"the {who} differ once this step is made",
            *((place, "they are sharded here") for known, place in some.places.items() if known == name),
        )

    def _buffer(self, some: Fact, name: str, differ: str) -> Finding:
        if name in some.traits:
            message = f"the buffer {differ}: it chooses experts, and each rank chooses others for the same token"
            return self.found(some.when, message, "the model is sharded here")
        if name.endswith(_STATISTICS):
            message = f"the running statistics of each rank are its own ({differ}): a checkpoint keeps one of them"
            return self.found(some.when, message, "the model is sharded here", severity=Severity.INFO)
        message = f"the buffer {differ}: FSDP2 does not synchronise buffers, and a checkpoint keeps one of them"
        return self.found(some.when, message, "the model is sharded here", severity=Severity.WARNING)


def _by_rounding(facts: Facts, name: str) -> bool:
    """Is what lies between the ranks next to nothing beside the way that training has gone?"""
    start = _numbers(next(iter(facts.values())).values[name + AT_FIRST])
    ends = [_numbers(fact.values[name]) for fact in facts.values() if name in fact.values]
    moved = max((abs(here - there) for end in ends for here, there in zip(end, start)), default=0.0)
    apart = max((max(each) - min(each) for each in zip(*ends)), default=0.0)
    return apart <= _SMALL * moved


def _numbers(text: str) -> list[float]:
    return [float(each) for each in text.split()]
