"""FSDP607: a generator of parameters is read once."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import GeneratorRead
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SpentParameterIterator(Rule):
    code = "FSDP607"
    summary = "one model.parameters() generator is read twice; the second reader gets nothing"
    severity = Severity.ERROR
    judged_by = "S"
    help = "call model.parameters() again, or keep list(model.parameters())"

    def read(self, event: GeneratorRead) -> Outcomes:
        yield APPLIES
        if spent := event.generator.spent():
            yield self.found(
                event.when,
                f"{event.by} reads a generator of {event.model.label}'s parameters that is empty by now",
                "nothing is left in the generator here",
                (spent.what.when, spent.what.words),
                fix=spent.what.fix,
                cause=spent.what.when,
            )
