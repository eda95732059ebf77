"""FSDP201: memory that ``to_empty`` allocated is written before it is used."""

from __future__ import annotations

from fsdp2_lint.vocab.events.initialisation import Materialised
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class NeverInitialised(Rule):
    code = "FSDP201"
    summary = "to_empty, and then training without initialisation or load"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "initialise every module after to_empty, or load a checkpoint on every path"

    def materialised(self, event: Materialised) -> Outcomes:
        yield APPLIES
        if untouched := event.model.uninitialised():
            emptied, names = untouched.what
            yield self.found(
                emptied,
                f"nothing has written {listed(names)} since to_empty allocated them: training starts from garbage",
                "to_empty allocates memory and writes nothing",
                *((place.when, place.words) for place in event.model.written_in_other_runs()),
                (event.when, "the model runs here"),
            )
