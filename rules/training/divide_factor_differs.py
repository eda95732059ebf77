"""FSDP616: all groups of a model divide their gradients alike."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import GradientsDivided
from fsdp2_lint.vocab.facts import Facts, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class DivideFactorDiffers(Rule):
    code = "FSDP616"
    summary = "groups of one model divide their gradients by different numbers"
    severity = Severity.ERROR
    judged_by = "SRP"
    compares = "divided"
    help = "call set_gradient_divide_factor on every FSDPModule of the model, with one number"

    def divided(self, event: GradientsDivided) -> Outcomes:
        yield APPLIES
        for uneven in event.model.unevenly():
            yield self.found(
                uneven.said,
                f"the gradients of {uneven.label} are divided by {uneven.by}, those of {uneven.other} by "
                f"{uneven.other_by}: set_gradient_divide_factor is not recursive",
                f"this is the number of the group of {uneven.label} alone",
                (uneven.other_made, "this group has none of it"),
            )

    def compare(self, facts: Facts) -> Outcomes:
        """Groups on fewer ranks than the rest: experts, if ranks at the same place in them hold different weights."""
        yield APPLIES
        by_place: dict[str, tuple[int, str]] = {}
        for rank, fact in sorted(facts.items()):
            if not fact.values:
                continue
            first, weights = by_place.setdefault(fact.traits["place"], (rank, fact.values["weights"]))
            if weights != fact.values["weights"]:
                by, rest, label = (fact.traits[name] for name in ("by", "rest", "label"))
                yield self.found(
                    fact.when,
                    f"the gradients of {label} are divided by {by}, those of the rest by {rest}: "
                    f"{in_words((first, rank))} hold different experts, and each gets tokens of all ranks",
                    f"call set_gradient_divide_factor({rest}.0) on it",
                )
                return
