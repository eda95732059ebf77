"""FSDP505: inputs that have to be exact are not cast to 16 bits."""

from __future__ import annotations

from fsdp2_lint.vocab.events.precision import InputsCast
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class PreciseInputCast(Rule):
    code = "FSDP505"
    summary = "cast_forward_inputs rounds positions, time steps or rotary tables to the compute dtype"
    severity = Severity.WARNING
    judged_by = "R"
    help = "pass such inputs as integers, or set cast_forward_inputs=False in the policy and cast inside the module"

    def cast(self, event: InputsCast) -> Outcomes:
        yield APPLIES
        if rounded := event.inputs.rounded():
            yield self.found(
                rounded.what.when,
                f"the policy of {event.inputs.label} casts its input {rounded.what.words}",
                "this policy casts every floating-point input of the module",
                (event.when, "the input comes in here"),
            )
