"""FSDP317: hooks, attributes and aliases of parameters are made after sharding."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import ParametersReplaced
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class HooksOrAttributesLost(Rule):
    code = "FSDP317"
    summary = "hooks, attributes or aliases of parameters are made before sharding and relied on after it"
    severity = Severity.WARNING
    judged_by = "SRP"
    help = "register hooks, set attributes and collect parameters after fully_shard"

    def replaced(self, event: ParametersReplaced) -> Outcomes:
        replacement = event.replacement
        yield APPLIES
        hooks, attributes = replacement.hooks_lost(), replacement.attributes_lost()
        aliases = replacement.aliases_used()
        if not (hooks | attributes | aliases):
            return
        if hooks.surely:
            yield self.found(
                event.when,
                f"{hooks.what.words} was called on parameters before they were sharded: the hooks never fire",
                "this call replaces the parameters, without their hooks",
                (hooks.what.when, "the hooks are registered here"),
            )
        if attributes.surely:
            state = replacement.state_lost().surely
            whose = f"state of {replacement.state_lost().what}" if state else "set on parameters"
            yield self.found(
                event.when,
                f"{attributes.what.words} was {whose} before they were sharded: the new ones do not have it",
                "this call replaces the parameters, without their attributes",
                (attributes.what.when, "it is read here"),
                severity=Severity.ERROR if state else None,
            )
        if aliases.surely:
            yield self.found(
                event.when,
                f"parameters that were collected before this call are used after it, in {aliases.what.words}: "
                "they are no longer those of the model",
                "this call replaces the parameters",
                (aliases.what.when, "the old ones are used here"),
            )
