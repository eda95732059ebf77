"""FSDP315: somebody reduces the gradients of parameters that FSDP2 ignores."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import GroupSettled
from fsdp2_lint.vocab.facts import Facts
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class IgnoredParamsUnsynced(Rule):
    code = "FSDP315"
    summary = "gradients of trainable ignored_params are not reduced, or ignored_params holds names"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "outside-gradients"
    help = "pass parameters and not names, and all-reduce the gradients of those that train"

    def settled(self, event: GroupSettled) -> Outcomes:
        group = event.group
        yield APPLIES
        names, made = group.ignored_names(), group.made()
        if names and made:
            yield self.found(
                made.what,
                f"ignored_params holds names ({listed(list(names.items))}) and not parameters: nothing is ignored",
                "fully_shard compares with the parameters themselves",
            )
        trained = group.ignored_trained()
        if trained and made:
            yield self.found(
                made.what,
                f"{trained.what.words} is trained and in ignored_params: FSDP2 does not reduce its gradients, "
                "and nothing else does",
                "ignored_params takes it out of every group",
                (trained.what.when, "the optimizer trains it"),
            )

    def compare(self, facts: Facts) -> Outcomes:
        """The same weights and other gradients at the step: from there on the ranks train different models."""
        yield APPLIES
        some = next(iter(facts.values()))
        if any(len({fact.values[name].split()[0] for fact in facts.values()}) > 1 for name in _common(facts)):
            return  # experts: each rank has others, on purpose
        for name in _common(facts):
            if len({fact.values[name] for fact in facts.values()}) > 1:
                yield self.found(
                    some.places[name],
                    f"the gradients of {name} differ between ranks: FSDP2 ignores it, and nobody reduces them",
                    "ignored_params takes it out of every group",
                )
                return


def _common(facts: Facts) -> list[str]:
    """What all ranks have said something of."""
    some = next(iter(facts.values()))
    return [name for name in some.values if all(name in fact.values for fact in facts.values())]
