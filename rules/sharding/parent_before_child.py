"""FSDP302: children are sharded before their parent."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import Sharded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ParentBeforeChild(Rule):
    code = "FSDP302"
    summary = "a parent is sharded before its descendant"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "shard bottom-up: children first, the root last"

    def sharded(self, event: Sharded) -> Outcomes:
        yield APPLIES
        outer = event.unit.inside()
        if outer and outer.what == event.when:
            yield self.found(
                event.when,
                "modules() yields the model before its parts: the parent is sharded first",
                f"{event.unit.label} includes the model itself, before its children",
            )
        elif outer:
            yield self.found_order(
                (outer.what, "its parent is sharded here"),
                (event.when, f"{event.unit.label} is sharded here, too late"),
                f"{event.unit.label} is sharded after the module that contains it",
                blame="late",
                cause="early",
            )
