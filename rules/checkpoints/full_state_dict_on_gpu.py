"""FSDP702: a gathered state dict goes to the CPU."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import StateGathered
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class FullStateDictOnGpu(Rule):
    code = "FSDP702"
    summary = "full_state_dict=True without cpu_offload=True"
    severity = Severity.WARNING
    judged_by = "S"
    help = "write StateDictOptions(full_state_dict=True, cpu_offload=True); the dict is then on rank 0 alone"

    def gathered(self, event: StateGathered) -> Outcomes:
        sharded = event.model.touched()
        if not sharded:
            return
        yield APPLIES
        if kept := event.gathering.kept_on_gpu():
            yield self.found(
                kept.what.when,
                f"{event.gathering.name}() gathers all of {event.model.label}, and every GPU keeps a whole copy of it",
                "full_state_dict=True without cpu_offload=True",
                (event.when, "the full tensors are gathered here, on every rank"),
                (next(iter(sharded)), "the model is sharded here, since it is large"),
            )
