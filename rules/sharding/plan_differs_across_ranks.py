"""FSDP316: all ranks shard the model in the same way."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class PlanDiffersAcrossRanks(Rule):
    code = "FSDP316"
    summary = "ranks disagree on groups, parameters, shapes or mesh"
    severity = Severity.ERROR
    judged_by = "RP"
    compares = "plan"
    help = "take every decision about sharding from what all ranks have in common"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        names = dict.fromkeys(name for fact in facts.values() for name in fact.values)
        # A group that only some ranks have is the cause; that another one holds more there is a consequence.
        for name in sorted(names, key=lambda each: all(each in fact.values for fact in facts.values())):
            parts = groups_of_ranks(facts, name)
            if len(parts) == 1:
                continue
            having = [(ranks, value) for ranks, value in parts if value is not None]
            first = facts[having[0][0][0]].places[name]
            if len(having) < len(parts):
                missing = next(ranks for ranks, value in parts if value is None)
                said = f"{name} is a group of its own on {in_words(having[0][0])} and not on {in_words(missing)}"
            else:
                said = f"{name} holds other parameters on {in_words(having[0][0])} than on {in_words(having[1][0])}"
            others = [(facts[ranks[0]].places[name], f"and here on {in_words(ranks)}") for ranks, _ in having[1:]]
            yield self.found(
                first,
                f"{said}: their collectives do not match",
                f"it is sharded here on {in_words(having[0][0])}",
                *others,
            )
            return
