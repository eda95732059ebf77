"""FSDP401: a sharded module is called, never its ``forward``."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import Called
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class DirectForward(Rule):
    code = "FSDP401"
    summary = "model.forward(...) on a sharded module"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "call the module itself, model(x), or register_fsdp_forward_method(model, 'forward')"

    def called(self, event: Called) -> Outcomes:
        if event.method != "forward":
            return
        sharded = event.model.sharded()
        if not sharded:
            return
        yield APPLIES
        if event.model.hooks_bypassed("forward"):
            yield self.found(
                event.when,
                f"{event.model.label}.forward() bypasses FSDP2's hooks: the parameters are not gathered",
                "forward is called directly here",
                (sharded.what, "the module is sharded here"),
                fix=event.fix,
            )
