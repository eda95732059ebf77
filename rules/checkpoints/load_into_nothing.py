"""FSDP703: a load fills something that is used."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import CheckpointLoaded, StateMatched
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class LoadIntoNothing(Rule):
    code = "FSDP703"
    summary = "a load into an empty dict, into an optimizer without state, or of names that need not fit"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "load into get_state_dict(model, optimizer), then set_state_dict(...)"

    def matched(self, event: StateMatched) -> Outcomes:
        yield APPLIES
        if lenient := event.loading.misses_unseen():
            yield self.found(
                event.when,
                f"{event.loading.name} leaves out what has another name without an error: perhaps nothing is loaded",
                lenient.what.words,
                (lenient.what.when, "this allows for that"),
                severity=Severity.WARNING,
            )

    def loaded(self, event: CheckpointLoaded) -> Outcomes:
        yield APPLIES
        if nothing := event.payload.receives_nothing():
            yield self.found(
                event.when,
                f"dcp.load loads in place, but is given {nothing.what}: nothing is loaded",
                "there is nothing to load into",
            )
