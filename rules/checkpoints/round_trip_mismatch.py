"""FSDP710: what is saved comes back bit by bit."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import CheckpointReturned
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class RoundTripMismatch(Rule):
    code = "FSDP710"
    summary = "what was saved does not come back bitwise"
    severity = Severity.ERROR
    judged_by = "R"
    help = (
        "save what differs from rank to rank under a key of its own for each rank, "
        "and load into tensors of the dtype that was saved"
    )

    def returned(self, event: CheckpointReturned) -> Outcomes:
        yield APPLIES
        if changed := event.trip.changed():
            yield self.found(
                event.when,
                f"the checkpoint does not give back what this rank has saved: {changed.what.words}",
                "these values come back changed",
                (changed.what.when, "they are saved here"),
            )
