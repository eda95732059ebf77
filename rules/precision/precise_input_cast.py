"""FSDP505: inputs that have to be exact are not cast to 16 bits."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.precision import InputsCast
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class PreciseInputCast(Rule):
    code = "FSDP505"
    name = "precise-input-cast"
    summary = "cast_forward_inputs rounds positions, time steps or rotary tables to the compute dtype"
    severity = Severity.WARNING
    witnesses = "R"
    help = "pass such inputs as integers, or set cast_forward_inputs=False in the policy and cast inside the module"

    def cast(self, event: InputsCast) -> Iterator[Outcome]:
        yield APPLIES
        rounded = event.inputs.rounded()
        if rounded:
            yield self.found(
                rounded.what.when,
                f"the policy of {event.inputs.label} casts its input {rounded.what.words}",
                "this policy casts every floating-point input of the module",
                (event.when, "the input comes in here"),
            )
