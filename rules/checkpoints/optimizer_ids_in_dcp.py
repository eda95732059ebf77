"""FSDP713: the state of an optimizer is saved under the names of its parameters."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.checkpoints import CheckpointWritten
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class OptimizerIdsInDcp(Rule):
    code = "FSDP713"
    name = "optimizer-ids-in-dcp"
    summary = "the state of an optimizer is saved under the numbers of its parameters"
    severity = Severity.WARNING
    witnesses = "SR"
    help = (
        "save get_optimizer_state_dict(model, optimizer), which has names for keys; load with set_optimizer_state_dict"
    )

    def written(self, event: CheckpointWritten) -> Iterator[Outcome]:
        yield APPLIES
        numbered = event.written.numbered()
        if numbered:
            yield self.found(
                event.when,
                f"{event.by} writes the state of {numbered.what.words} under numbers, 'state.0.exp_avg': an optimizer "
                "that has its parameters in another order loads those of other parameters, without an error",
                "an optimizer's own state_dict() knows no names",
            )
