"""FSDP704: the state of an optimizer that has none yet is not asked for while gradients are there."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import OptimizerStateRead
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class OptimizerStateReadWithGradients(Rule):
    code = "FSDP704"
    summary = "get_optimizer_state_dict of an optimizer without state, while gradients are live"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "call optimizer.zero_grad() before, or read the state after the first optimizer.step()"

    def read(self, event: OptimizerStateRead) -> Outcomes:
        yield APPLIES
        if cold := event.reading.cold_with_gradients():
            yield self.found(
                event.when,
                f"{event.reading.name}() cannot make the state of {cold.what.words} while there are gradients: "
                "the state dict comes back without any state",
                "there is no state to read, and torch does not make one",
                (cold.what.when, "the gradients come from here, and nothing clears them"),
            )
