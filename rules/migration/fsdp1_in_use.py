"""FSDP907: FSDP1 wraps a model, and this is how the call reads in FSDP2."""

from __future__ import annotations

from fsdp2_lint.vocab.events.migration import Fsdp1Wrapped
from fsdp2_lint.vocab.fsdp1 import DEFAULT_STRATEGY, KEYWORDS, STRATEGIES
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class Fsdp1InUse(Rule):
    code = "FSDP907"
    summary = "FullyShardedDataParallel wraps a model: how to migrate, argument by argument"
    severity = Severity.INFO
    judged_by = "S"
    help = "call fully_shard on each block and then on the model; the page of this rule has the whole table"
    words = ("FullyShardedDataParallel",)

    def wrapped(self, event: Fsdp1Wrapped) -> Outcomes:
        yield APPLIES
        if event.wrapper.alternative():
            return
        strategy, because = DEFAULT_STRATEGY, []
        for place in event.wrapper.arguments():
            keyword, _, value = place.words.partition("=")
            if keyword == "sharding_strategy":
                strategy = value
            if keyword == "sharding_strategy" and value in STRATEGIES:
                because.append((place.when, f"{value} becomes {STRATEGIES[value]}"))
            elif keyword in KEYWORDS:
                because.append((place.when, f"{keyword} becomes {KEYWORDS[keyword]}"))
        yield self.found(
            event.when,
            f"the model is wrapped by FSDP1; {_instead(strategy)}",
            "FullyShardedDataParallel is called here",
            *because,
        )


def _instead(strategy: str) -> str:
    """The whole call in FSDP2; the strategy may be a setting, which nobody knows here."""
    if strategy == "NO_SHARD":
        return f"without sharding, use {STRATEGIES[strategy]}"
    how = f" with {STRATEGIES[strategy]}" if strategy in STRATEGIES else " on each block and on the model"
    return f"in FSDP2 this is fully_shard{how}"
