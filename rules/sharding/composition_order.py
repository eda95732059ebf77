"""FSDP309: tensor parallelism, activation checkpointing, compilation, and only then ``fully_shard``."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import Checkpointed, Compiled, CompositionEvent, TensorParallelised
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity

ORDER = "tensor parallelism, activation checkpointing, torch.compile, fully_shard"


class CompositionOrder(Rule):
    code = "FSDP309"
    summary = "a sharded module is parallelised, checkpointed or compiled afterwards"
    severity = Severity.WARNING
    judged_by = "S"
    help = f"keep the order: {ORDER}"

    def parallelised(self, event: TensorParallelised) -> Outcomes:
        words = "tensor parallelism comes after fully_shard: it cannot split what is sharded already, and raises"
        yield from self._judge(event, words, Severity.ERROR)

    def checkpointed(self, event: Checkpointed) -> Outcomes:
        words = "activation checkpointing is put around a sharded module: its hooks run again when it is recomputed"
        yield from self._judge(event, words, Severity.WARNING)
        compiled = event.composition.compiled_before()
        if compiled:
            yield self.found(
                event.when,
                "activation checkpointing is put around a compiled module: its compiler does not see the recomputation",
                f"{event.composition.label} is compiled by now",
                (compiled.what.when, "it is compiled here"),
                cause=(compiled.what.when, Compiled),
            )

    def compiled(self, event: Compiled) -> Outcomes:
        composition = event.composition
        if event.whole_graph and composition.outermost():
            words = (
                "torch.compile with fullgraph=True meets the hooks of fully_shard, which it cannot trace, and raises"
            )
            yield from self._judge(event, words, Severity.WARNING)
        elif composition.outermost():
            words = "torch.compile comes after fully_shard: the graph breaks at the hooks of each group"
            yield from self._judge(event, words, Severity.INFO)
        else:
            words = "a block is compiled after it was sharded: the hooks of fully_shard stay outside of the graph"
            yield from self._judge(event, words, Severity.INFO)

    def _judge(self, composed: CompositionEvent, words: str, severity: Severity) -> Outcomes:
        composition = composed.composition
        yield APPLIES
        sharded = composition.sharded_before()
        if sharded:
            yield self.found(
                composed.when,
                words,
                f"{composition.label} is sharded by now",
                (sharded.what.when, "it is sharded here"),
                severity=severity,
                cause=(sharded.what.when, type(composed)),
            )
