"""FSDP713: the state of an optimizer is saved under the names of its parameters."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import CheckpointWritten
from fsdp2_lint.vocab.facts import Facts, in_words, parties
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class OptimizerIdsInDcp(Rule):
    code = "FSDP713"
    summary = "the state of an optimizer is saved under the numbers of its parameters"
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
            other = "another stage" if staged.surely else "an optimizer that has its parameters in another order"
            yield self.found(
                event.when,
                f"{event.by} writes the state of {numbered.what.words} under numbers, 'state.0.exp_avg': {other} "
                "loads those of other parameters, without an error",
                "an optimizer's own state_dict() knows no names",
                *([(staged.what.when, "each rank has the parameters of its own stage")] if staged.surely else []),
                severity=Severity.ERROR if staged.surely else None,
            )

    def compare(self, facts: Facts) -> Outcomes:
        """Of ranks that do not shard one model together: they have other parameters under one number, or copies."""
        yield APPLIES
        for some, others in zip(said := parties(facts, "parameters"), said[1:2]):
            yield self.found(
                facts[some[0]].when,
                f"{in_words(some)} and {in_words(others)} write the state of other parameters under the same numbers, "
                "'state.0.exp_avg': one of them is kept, and all load it, without an error",
                "an optimizer's own state_dict() knows no names",
                severity=Severity.ERROR,
            )
