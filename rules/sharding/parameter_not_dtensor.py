"""FSDP320: a managed parameter is the DTensor that sharding planned."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import ForwardBegun
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ParameterNotDtensor(Rule):
    code = "FSDP320"
    summary = "a managed parameter is not a DTensor with the planned mesh and placement"
    severity = Severity.ERROR
    judged_by = "RP"
    help = "write into the parameter (copy_, set_model_state_dict) instead of putting another one in its place"

    def begun(self, event: ForwardBegun) -> Outcomes:
        yield APPLIES
        strays = event.model.strays()
        if not strays:
            return
        for stray in strays:
            planned = "this call planned it as a sharded DTensor"
            yield self.found(
                stray.put or stray.made,
                f"{stray.name} is {stray.what}: FSDP2 does not use it",
                "it takes the place of the sharded parameter here" if stray.put else planned,
                *([(stray.made, planned)] if stray.put else []),
                (event.when, "the model runs with it here"),
            )
