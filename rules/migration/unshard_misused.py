"""FSDP909: ``unshard`` is no context manager, and what it begins has to be waited for."""

from __future__ import annotations

from fsdp2_lint.vocab.events.migration import UnshardDropped, UnshardEntered
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class UnshardMisused(Rule):
    code = "FSDP909"
    summary = "with model.unshard(), or async_op=True and nobody waits"
    severity = Severity.ERROR
    judged_by = "S"
    help = (
        "call model.unshard(), use the parameters, call model.reshard(); with async_op=True keep the handle and wait()"
    )

    def entered(self, event: UnshardEntered) -> Outcomes:
        yield APPLIES
        sharded = event.model.converted()
        if not sharded:
            return
        yield self.found(
            event.when,
            f"{event.model.label}.unshard() returns no context manager: entering it raises an exception",
            "unshard() is a plain call, and reshard() its counterpart",
            (sharded.what.when, sharded.what.words),
        )

    def dropped(self, event: UnshardDropped) -> Outcomes:
        sharded = event.model.converted()
        if not sharded:
            return
        yield APPLIES
        if used := event.model.used_too_early():
            yield self.found(
                event.when,
                f"nothing waits for the parameters of {event.model.label} that unshard(async_op=True) begins to gather",
                "the handle is dropped here",
                (used.what.when, used.what.words),
                (sharded.what.when, sharded.what.words),
            )
