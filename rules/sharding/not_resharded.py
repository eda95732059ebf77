"""FSDP318: a group is freed when its plan says so."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import BackwardEnded, ForwardEnded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class NotResharded(Rule):
    code = "FSDP318"
    summary = "after forward or backward a group is gathered where it should be sharded"
    severity = Severity.ERROR
    judged_by = "RP"
    help = "let the exception pass, or call reshard() on the module where it is handled"

    def forward_ended(self, event: ForwardEnded) -> Outcomes:
        yield from self._judge(event, "forward")

    def backward_ended(self, event: BackwardEnded) -> Outcomes:
        yield from self._judge(event, "backward")

    def _judge(self, ended: ForwardEnded | BackwardEnded, phase: str) -> Outcomes:
        yield APPLIES
        left, made = ended.unit.left_gathered(), ended.unit.made()
        if left and made:
            yield self.found(
                made.what,
                f"{ended.unit.label} is not resharded after {phase}: {left.what}",
                "this group should be sharded by then",
                (ended.when, f"after the {phase} here it is not"),
            )
