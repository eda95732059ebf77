"""FSDP905: a module of FSDP2 is no wrapper, so it has no ``module``."""

from __future__ import annotations

from fsdp2_lint.vocab.events.migration import ModuleAttributeRead
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ModuleAttribute(Rule):
    code = "FSDP905"
    summary = "model.module on an FSDP2 model"
    severity = Severity.ERROR
    judged_by = "S"
    help = "use the model itself: fully_shard changes it in place and wraps nothing"

    def read(self, event: ModuleAttributeRead) -> Outcomes:
        yield APPLIES
        sharded = event.model.converted()
        if not sharded:
            return
        yield self.found(
            event.when,
            f"{event.model.label} is sharded by FSDP2, which wraps nothing: .module raises an AttributeError",
            "DDP and FSDP1 have this attribute, FSDP2 has not",
            (sharded.what.when, sharded.what.words),
            fix=event.fix,
        )
