"""FSDP403: a model runs as a whole before parts of it run alone."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import PartCalled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ChildBeforeRoot(Rule):
    code = "FSDP403"
    summary = "a sharded part of a model is called before the model itself ever was"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "call the part through the model's forward, or shard it as a model of its own"

    def called(self, event: PartCalled) -> Outcomes:
        first = event.part.ran_first()
        yield APPLIES
        if first:
            yield self.found(
                event.when,
                f"{event.part.label} runs before the model that contains it: it becomes a root of its own, "
                "and the model cannot run any more",
                "the first forward of all is this one",
                (first.what.when, first.what.words),
            )
