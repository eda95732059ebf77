"""FSDP407: no forward comes between backward and step, unless the root is resharded."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.behaviour import about_root
from fsdp2_lint.vocab.events.forward import OldWeightsMet
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class StaleRoot(Rule):
    code = "FSDP407"
    name = "stale-root"
    summary = "a forward between backward and step leaves the root gathered, and its old weights are used again"
    severity = Severity.ERROR
    witnesses = "SR"
    help = "call model.reshard() after the extra forward, or move it behind optimizer.step()"

    def met(self, event: OldWeightsMet) -> Iterator[Outcome]:
        yield APPLIES
        stale = event.model.stale()
        if not stale:
            return
        for left in stale:
            yield self.found(
                left.gathered,
                f"this forward leaves {left.label} gathered over optimizer.step(): the next one uses the old weights"
                f"{about_root(self.target)}",
                f"{left.label} is gathered here",
                (left.stepped, "the step changes the shards, not the gathered copy"),
                (event.when, "the old copy is used here"),
            )
