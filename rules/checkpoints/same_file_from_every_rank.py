"""FSDP714: a file is written by the rank that has what belongs in it."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import FileWritten
from fsdp2_lint.vocab.facts import Facts, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SameFileFromEveryRank(Rule):
    code = "FSDP714"
    summary = "all ranks write to one file, with different content on each rank"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "written-files"
    help = (
        "gather on all ranks, and write on rank 0 alone: if dist.get_rank() == 0: torch.save(state, path); "
        "for state that differs by rank, put the rank into the path"
    )

    def written(self, event: FileWritten) -> Outcomes:
        yield APPLIES
        emptied, own = event.file.emptied(), event.file.of_each_rank()
        if not (emptied | own):
            return
        if emptied.surely:
            yield self.found(
                event.when,
                f"each rank writes {emptied.what.words} to one file, and all but rank 0 have an empty dict: "
                "the file ends up empty or corrupt",
                "the ranks overwrite each other here",
                (emptied.what.when, "with cpu_offload only rank 0 gets the tensors that are gathered here"),
            )
        else:
            yield self.found(
                event.when,
                f"all ranks write {own.what.words} to one file, each its own: the last one to write wins, "
                "or the file is corrupt",
                "the ranks overwrite each other here",
                (own.what.when, "each rank has its own"),
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        writers: dict[str, list[int]] = {}
        for rank, fact in sorted(facts.items()):
            if "content" in fact.values:
                writers.setdefault(fact.values.get("file", ""), []).append(rank)
        for file, ranks in writers.items():
            if file and len({facts[rank].values["content"] for rank in ranks}) > 1:
                yield self.found(
                    facts[ranks[0]].when,
                    f"{in_words(tuple(ranks))} write {file.partition(':')[2]}, with different contents: the last one "
                    "to write wins, or the file is corrupt",
                    "the ranks overwrite each other here",
                )
                return
