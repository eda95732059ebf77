"""FSDP204: buffers of a meta model are computed again after ``to_empty``."""

from __future__ import annotations

from fsdp2_lint.vocab.events.initialisation import ForwardSeen
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class BuffersNotRestored(Rule):
    code = "FSDP204"
    summary = "buffers of a meta model are not recomputed after to_empty"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "compute the buffers again after to_empty, where the parameters are initialised"

    def seen(self, event: ForwardSeen) -> Outcomes:
        yield APPLIES
        if untouched := event.model.unrestored_buffers():
            emptied, names = untouched.what
            yield self.found(
                emptied,
                f"nothing has computed {listed(names)} since to_empty allocated it: it holds garbage",
                "to_empty allocates buffers too, and a state dict that is loaded brings back only the persistent ones",
                (event.when, "the model runs here"),
            )
