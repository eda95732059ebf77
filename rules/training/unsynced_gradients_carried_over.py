"""FSDP615: gradients that are given up are not in the next step."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import BackwardBegun
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity
from fsdp2_lint.vocab.target import in_words


class UnsyncedGradientsCarriedOver(Rule):
    code = "FSDP615"
    summary = "gradients that were accumulated without synchronisation survive zero_grad() and get into the next step"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "end every window with a synchronised backward before zero_grad(), or drop no micro-batches"

    def begun(self, event: BackwardBegun) -> Outcomes:
        yield APPLIES
        for carried in event.model.carried_over():
            reset = event.model.reset_by()
            if reset and reset.what.of(self.target) and event.model.reset_in_time():
                return
            kept = f", and reset_iter_state() of {in_words(self.target)} does not help" if reset else ""
            yield self.found(
                carried.cleared,
                f"this does not clear the gradients of {carried.label} that were not reduced: FSDP2 keeps them and "
                f"adds them to the next step{kept}",
                "gradients are cleared here, and those inside FSDP2 stay",
                (carried.left, "this backward added them up without reducing them"),
                (event.when, "this backward adds to them"),
            )
