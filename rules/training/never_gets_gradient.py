"""FSDP620: what is to be trained gets a gradient."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Facts
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class NeverGetsGradient(Rule):
    code = "FSDP620"
    summary = "a parameter in an optimizer has had no gradient in any step, on any rank"
    severity = Severity.WARNING
    judged_by = "R"
    compares = "no-gradient"
    each_its_own = True  # here ranks that agree are those that have something to say
    help = "find what cuts the graph (detach, no_grad, a reentrant checkpoint), or freeze the parameter"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        if set(facts) != set(some.ranks):
            return  # a rank that says nothing has seen a gradient of each
        names = [name for name in some.values if all(name in fact.values for fact in facts.values())]
        if names:
            ran = any(fact.values[names[0]] == "ran" for fact in facts.values())
            why = "its module ran, and no gradient came back" if ran else "nothing called its module"
            yield self.found(
                some.when,
                f"{listed(names)} of {some.traits['model']} had no gradient in {some.traits['steps']} steps, on any "
                f"rank: {why}",
                "this optimizer is to train it, and leaves it as it is",
                *((place, "it is sharded here") for name, place in some.places.items() if name == names[0]),
            )
