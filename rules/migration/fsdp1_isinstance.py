"""FSDP904: an FSDP2 module is not a FullyShardedDataParallel."""

from __future__ import annotations

from fsdp2_lint.vocab.events.migration import Fsdp1Tested
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class Fsdp1Isinstance(Rule):
    code = "FSDP904"
    summary = "isinstance(model, FullyShardedDataParallel) decides what an FSDP2 model does"
    severity = Severity.ERROR
    judged_by = "S"
    help = "test for torch.distributed.fsdp.FSDPModule, and look at what the test guards"

    def tested(self, event: Fsdp1Tested) -> Outcomes:
        sharded = event.model.converted()
        if not sharded:
            return
        yield APPLIES
        if neglected := event.model.neglected():
            yield self.found(
                event.when,
                f"{event.model.label} is an FSDP2 module, not a FullyShardedDataParallel, so the check is "
                f"false: {neglected.what.words}",
                "this is never true",
                (neglected.what.when, neglected.what.words),
                (sharded.what.when, sharded.what.words),
                fix=event.fix,
            )
