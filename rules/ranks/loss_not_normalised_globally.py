"""FSDP810: every target has the same weight in the loss, on whichever rank it is."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Facts
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity

NOTICEABLE = 1.01  # ratio of counts


class LossNotNormalisedGlobally(Rule):
    code = "FSDP810"
    summary = "the loss is a local mean, over another number of targets on each rank, or a sum that nothing divides"
    severity = Severity.WARNING
    judged_by = "R"
    compares = "targets"
    each_its_own = True
    help = "sum the loss, divide by the number of targets of all ranks, and multiply by the number of ranks"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        said = {rank: fact.values["targets"].split(" of ") for rank, fact in facts.items() if fact.values}
        if len(said) < 2 or len({facts[rank].traits["scale"] for rank in said}) > 1:
            return  # each rank has a factor of its own, which knows the counts
        counted = {rank: int(count) for rank, (count, _) in said.items()}
        fewest, most = min(counted, key=counted.__getitem__), max(counted, key=counted.__getitem__)
        ignored = any(count != targets for count, targets in said.values())
        if not ignored or counted[most] <= NOTICEABLE * counted[fewest]:
            return
        if facts[fewest].traits["what"] == "sum":
            yield self.found(
                facts[fewest].when,
                f"the loss is the sum over {counted[fewest]} targets on rank {fewest} and {counted[most]} on rank "
                f"{most}, and nothing divides it or its gradients before the step: they grow with that number",
                "a division after backward() does not reach the gradients",
            )
        else:
            yield self.found(
                facts[fewest].when,
                f"the loss is the mean of {counted[fewest]} targets on rank {fewest} and of {counted[most]} on rank "
                f"{most}, and both count the same: a target of rank {most} has less weight",
                "each rank divides by the number of its own targets",
            )
