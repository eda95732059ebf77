"""FSDP702: a gathered state dict goes to the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.checkpoints import StateGathered
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class FullStateDictOnGpu(Rule):
    code = "FSDP702"
    name = "full-state-dict-on-gpu"
    summary = "full_state_dict=True without cpu_offload=True"
    severity = Severity.WARNING
    witnesses = "S"
    help = "write StateDictOptions(full_state_dict=True, cpu_offload=True); the dict is then on rank 0 alone"

    def gathered(self, event: StateGathered) -> Iterator[Outcome]:
        sharded = event.model.touched()
        if not sharded:
            return
        yield APPLIES
        kept = event.gathering.kept_on_gpu()
        if kept:
            yield self.found(
                kept.what.when,
                f"{event.gathering.name}() gathers all of {event.model.label}, and every GPU keeps a whole copy of it",
                "full_state_dict=True without cpu_offload=True",
                (event.when, "the full tensors are gathered here, on every rank"),
                (next(iter(sharded)), "the model is sharded here, since it is large"),
            )
