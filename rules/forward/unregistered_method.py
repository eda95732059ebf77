"""FSDP402: a method that uses sharded parameters is registered."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import Called
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class UnregisteredMethod(Rule):
    code = "FSDP402"
    summary = "a method other than forward reaches the parameters of a sharded module"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "register_fsdp_forward_method(module, name) after sharding, or call the module itself"

    def called(self, event: Called) -> Outcomes:
        if event.method == "forward":
            return  # FSDP401
        sharded = event.model.sharded()
        if not sharded:
            return
        yield APPLIES
        if bypassed := event.model.hooks_bypassed(event.method):
            early = bypassed.what
            yield self.found(
                event.when,
                f"{event.model.label}.{event.method}() uses sharded parameters, and nothing gathers them",
                "this method is not registered with FSDP2",
                (sharded.what, "the module is sharded here"),
                *([(early.when, early.words)] if early else []),
                cause=(sharded.what, event.method),
            )
