"""FSDP908: ``fully_shard`` gives a module another class, so comparing classes fails."""

from __future__ import annotations

from fsdp2_lint.vocab.events.migration import ClassCompared
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class TypeIdentityAfterSharding(Rule):
    code = "FSDP908"
    summary = "type(m) or its name is compared after fully_shard has changed the class"
    severity = Severity.WARNING
    judged_by = "S"
    help = "use isinstance(m, Block): the new class is derived from the old one"

    def compared(self, event: ClassCompared) -> Outcomes:
        yield APPLIES
        sharded = event.model.converted()
        if not sharded:
            return
        yield self.found(
            event.when,
            f"fully_shard has given such modules another class: comparing it with {event.with_what} never matches them",
            "the class is compared here",
            (sharded.what.when, sharded.what.words),
        )
