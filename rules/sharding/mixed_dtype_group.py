"""FSDP314: the trainable parameters of a group have one dtype."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import GroupSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class MixedDtypeGroup(Rule):
    code = "FSDP314"
    summary = "one group mixes dtypes of trainable parameters"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "give the parameters one dtype, and use MixedPrecisionPolicy for the precision of the computation"

    def settled(self, event: GroupSettled) -> Outcomes:
        group = event.group
        yield APPLIES
        mixed, made = group.mixed_dtypes(), group.made()
        if mixed and made:
            yield self.found(
                made.what,
                f"one group of {group.label} mixes {mixed.what}: the first forward raises an AssertionError",
                "these parameters would be gathered and reduced together",
            )
