"""FSDP706: a save in the background is waited for."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import AsyncSaved
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class AsyncSaveNotAwaited(Rule):
    code = "FSDP706"
    summary = "nothing waits for dcp.async_save, or the next save or the training gets in its way"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = (
        "keep the future, call its result() before the next save and before the job ends, "
        'and give the save a group of its own: process_group=dist.new_group(backend="gloo")'
    )

    def saved(self, event: AsyncSaved) -> Outcomes:
        yield APPLIES
        dropped, overtaken, shared = event.save.dropped(), event.save.overtaken(), event.save.shares_group()
        if not (dropped | overtaken | shared):
            return
        if dropped.surely:
            message = (
                f"nothing waits for this save: {dropped.what.words}. Its errors are lost, and so is the checkpoint "
                "if the job ends first"
            )
            because = []
        elif overtaken.surely:
            message = "the next save starts before anything waited for this one"
            because = [(overtaken.what.when, "the next save starts here")]
        else:
            message = "this save and the training use one process group at once: their collectives get mixed up"
            because = [(shared.what.when, shared.what.words)]
        yield self.found(event.when, message, "the save goes on in the background", *because)
