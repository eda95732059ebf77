"""FSDP602: an optimizer must not be built while a forward has left the root gathered."""

from __future__ import annotations

from fsdp2_lint.vocab.behaviour import about_root
from fsdp2_lint.vocab.events.training import OptimizerSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class OptimizerAfterForward(Rule):
    code = "FSDP602"
    summary = "an optimizer is built after a forward that left the root's parameters gathered"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "build the optimizer before the first forward, or call model.reshard() after that forward"

    def settled(self, event: OptimizerSettled) -> Outcomes:
        yield APPLIES
        unsharded = event.optimizer.temporary()
        if not unsharded:
            return
        for temporary in unsharded:
            yield self.found_order(
                (temporary.replaced, f"this forward leaves the root of {temporary.label} gathered"),
                (temporary.read, f"{event.optimizer.label} takes the temporary parameters here"),
                f"the optimizer is built after a forward that left {temporary.label} gathered: "
                f"the root's parameters never train{about_root(self.target)}",
                blame="late",
            )
