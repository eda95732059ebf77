"""FSDP407: no group is gathered while the optimizer steps."""

from __future__ import annotations

from fsdp2_lint.vocab.behaviour import about_root
from fsdp2_lint.vocab.events.forward import OldWeightsMet
from fsdp2_lint.vocab.live import FORWARD, KEEPS
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class StaleRoot(Rule):
    code = "FSDP407"
    summary = "a group is still gathered when the optimizer steps, and its old weights are used again"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "before optimizer.step() call reshard() on each gathered module: model.reshard() reshards the root alone"

    def met(self, event: OldWeightsMet) -> Outcomes:
        yield APPLIES
        stale = event.model.stale()
        if not stale:
            return
        for left in stale:
            forward = left.by == FORWARD
            again = f"the next one uses the old weights{about_root(self.target)}"
            yield self.found(
                left.gathered,
                f"{left.by} leaves {left.label} gathered over optimizer.step(): "
                f"{again if forward else 'the next forward uses the old weights'}",
                f"{left.label} is gathered here" if left.by != KEEPS else f"from here on {left.label} stays gathered",
                (left.stepped, "the step changes the shards, not the gathered copy"),
                (event.when, "the old copy is used here"),
            )
