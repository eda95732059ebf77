"""FSDP205: writes to sharded parameters reach them."""

from __future__ import annotations

from fsdp2_lint.vocab.events.initialisation import ParameterWritten
from fsdp2_lint.vocab.finding import Severity
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule


class WriteThroughSliceLost(Rule):
    code = "FSDP205"
    summary = "a write through a slice of a sharded parameter, or to its data, has no effect"
    severity = Severity.ERROR
    judged_by = "S"
    help = "write before fully_shard, or write to the whole parameter under no_grad, for instance with a mask"

    def written(self, event: ParameterWritten) -> Outcomes:
        yield APPLIES
        lost = event.write.lost()
        if not lost:
            return
        if event.exchanged:
            message = "setting .data of a sharded parameter has no effect: it keeps its values"
            label = "the new tensor is dropped"
        else:
            message = (
                "this writes to a copy: some rows of a sharded parameter are no part of it, and it keeps its values"
            )
            label = "the rows are gathered into a tensor of their own"
        yield self.found(event.when, message, label, (lost.what.when, lost.what.words))
