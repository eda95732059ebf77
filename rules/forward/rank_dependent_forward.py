"""FSDP405: all ranks run the same sharded modules, in the same order."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import RunsOnCondition
from fsdp2_lint.vocab.facts import Facts, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity

END = "the end of the forward"


class RankDependentForward(Rule):
    code = "FSDP405"
    summary = "which sharded modules run differs from rank to rank"
    severity = Severity.ERROR
    judged_by = "SRP"
    compares = "forward-order"
    help = "run the module on every rank, multiplied by 0 where it is not wanted, or decide the same on all ranks"

    def chosen(self, event: RunsOnCondition) -> Outcomes:
        differs = event.choice.differs()
        yield APPLIES
        if differs:
            yield self.found(
                event.when,
                f"whether {event.choice.label} runs depends on {differs.what.words}: ranks gather different modules, "
                "which hangs or mixes their weights",
                "some ranks skip this call",
                (differs.what.when, "this decides it, and differs from rank to rank"),
                cause=differs.what.when,
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        for position in sorted({each for fact in facts.values() for each in fact.values}):
            said = {rank: fact.values[position] for rank, fact in facts.items() if position in fact.values}
            if len(set(said.values())) < 2:
                continue
            runs = {name: tuple(rank for rank in sorted(said) if said[rank] == name) for name in sorted(said.values())}
            own = [name for name in runs if name != END]
            alone = [name for name in own if _runs_nowhere_else(name, runs, facts)]
            sites = {facts[runs[name][0]].places[position]: name for name in alone or own}
            words = ", ".join(f"{in_words(ranks)} at {name}" for name, ranks in runs.items())
            yield self.found(
                min(sites),
                f"the ranks run different sharded modules: {words}",
                f"{sites[min(sites)]} does not run on every rank at this point",
            )
            return


def _runs_nowhere_else(name: str, runs: dict[str, tuple[int, ...]], facts: Facts) -> bool:
    """Do the ranks that do not run a module here not run it at all in this forward?"""
    others = [rank for ranks in runs.values() for rank in ranks if rank not in runs[name]]
    return not any(name in facts[rank].values.values() for rank in others)
