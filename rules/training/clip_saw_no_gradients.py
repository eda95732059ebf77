"""FSDP614: what is clipped is what the optimizer uses."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import ClippedUsed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ClipSawNoGradients(Rule):
    code = "FSDP614"
    summary = "gradients are clipped where clipping cannot see them, and the optimizer uses them unclipped"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "clip after the last, synchronised backward, with every group resharded"

    def used(self, event: ClippedUsed) -> Outcomes:
        yield APPLIES
        for unseen in event.model.unseen():
            yield self.found(
                unseen.clipped,
                f"this clips no gradient of {unseen.label}, so the optimizer steps with unclipped gradients",
                f"{unseen.label} {unseen.why.words}",
                (unseen.why.when, "this is why clipping does not see them"),
                (event.when, "the step uses gradients that were not clipped"),
            )
