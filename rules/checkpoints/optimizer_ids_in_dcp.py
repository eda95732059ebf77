"""FSDP713: the state of an optimizer is saved under the names of its parameters."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import CheckpointWritten
from fsdp2_lint.vocab.facts import Facts, in_words, parties
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class OptimizerIdsInDcp(Rule):
    code = "FSDP713"
    summary = "the state of an optimizer is saved by parameter index, without names"
    severity = Severity.WARNING
    judged_by = "SR"
    compares = "optimizer-numbers"
    help = (
        "save get_optimizer_state_dict(model, optimizer), which has names for keys; load with set_optimizer_state_dict"
    )

    def written(self, event: CheckpointWritten) -> Outcomes:
        yield APPLIES
        if numbered := event.written.numbered():
            staged = event.written.staged()
            other = "another stage" if staged.surely else "an optimizer with its parameters in another order"
            yield self.found(
                event.when,
                f"{event.by} keys the state of {numbered.what.words} by parameter index ('state.0.exp_avg'): {other} "
                "silently loads the wrong states",
                "an optimizer's own state_dict() has no parameter names",
                *([(staged.what.when, "each rank has the parameters of its own stage")] if staged.surely else []),
                severity=Severity.ERROR if staged.surely else None,
            )

    def compare(self, facts: Facts) -> Outcomes:
        """Of ranks that do not shard one model together: they have other parameters under one number, or copies."""
        yield APPLIES
        for some, others in zip(said := parties(facts, "parameters"), said[1:2]):
            yield self.found(
                facts[some[0]].when,
                f"{in_words(some)} and {in_words(others)} write the states of different parameters under the same "
                "index ('state.0.exp_avg'): one of them is kept, and all ranks silently load it",
                "an optimizer's own state_dict() has no parameter names",
                severity=Severity.ERROR,
            )
