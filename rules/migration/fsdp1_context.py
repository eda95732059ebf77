"""FSDP903: FSDP1's class methods do not work on an FSDP2 model."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import Fsdp1ContextUsed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class Fsdp1Context(Rule):
    code = "FSDP903"
    summary = "FSDP.summon_full_params, state_dict_type or optim_state_dict on an FSDP2 model"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "use unshard() and reshard(), or torch.distributed.checkpoint.state_dict"

    def used(self, event: Fsdp1ContextUsed) -> Outcomes:
        sharded = event.model.touched()
        if not sharded:
            return
        yield APPLIES
        if event.model.wrapped():
            return
        silent = event.name == "summon_full_params"
        consequence = "silently does nothing" if silent else "fails with an error that does not say why"
        yield self.found(
            event.when,
            f"FSDP.{event.name} supports FSDP1 only: on {event.model.label} it {consequence}",
            "a method of FSDP1 is applied here",
            (next(iter(sharded)), "the model is sharded by FSDP2 here"),
            severity=Severity.WARNING if silent else None,
        )
