"""FSDP808: each rank trains on data of its own."""

from __future__ import annotations

from fsdp2_lint.vocab.events.ranks import BatchTrained
from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SameDataOnEveryRank(Rule):
    code = "FSDP808"
    summary = "all ranks train on the same batches, or tensor-parallel ranks on different ones"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "batch"
    each_its_own = True
    help = (
        "use a DistributedSampler, or split the data by rank; with tensor parallelism by the rank on the data-parallel "
        "dimension of the mesh"
    )

    def trained(self, event: BatchTrained) -> Outcomes:
        yield APPLIES
        if apart := event.batch.apart_in_one_unit():
            dealt, divided = apart.what
            yield self.found(
                dealt.when,
                "the data is split by global rank: ranks that share layers compute their parts for different samples",
                dealt.words,
                (divided.when, divided.words),
                (event.when, "this forward is trained on them"),
            )
            return
        if by_node := event.batch.same_on_every_node():
            yield self.found(
                by_node.what.when,
                "the data is split by LOCAL_RANK, which repeats on every node: all nodes train on the same batches",
                by_node.what.words,
                (event.when, "this forward is trained on them"),
                severity=Severity.WARNING,
            )
            return
        if by_dimension := event.batch.same_in_each_replica():
            yield self.found(
                by_dimension.what.when,
                "the data is split along one mesh dimension: ranks that differ on the other one get the same batches",
                by_dimension.what.words,
                (event.when, "this forward is trained on them"),
            )
            return
        if source := event.batch.same_on_every_rank():
            yield self.found(
                event.when,
                "all ranks train on the same batches: the job does the work of one rank",
                "this forward gets the same input on every rank",
                (source.what.when, source.what.words),
                cause=source.what.when,
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        batches = [name for name in some.values if all(name in fact.values for fact in facts.values())]
        if set(facts) < set(some.ranks) or len({some.values[name] for name in batches}) < 2:
            return  # an input that never changes is no data
        if all(len(groups_of_ranks(facts, name)) == 1 for name in batches):
            yield self.found(
                some.when,
                f"{in_words(some.ranks)} train on the same batches, bit by bit: the job does the work of one rank",
                "this forward gets the same input on every rank",
            )
