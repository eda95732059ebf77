"""FSDP709: the keys of a checkpoint are the model's own."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import KeysWritten
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class PrefixedKeys(Rule):
    code = "FSDP709"
    summary = "a checkpoint whose keys carry the name of a wrapper"
    severity = Severity.WARNING
    judged_by = "SR"
    help = "save get_model_state_dict(model), which leaves the names of wrappers out, or compile with model.compile()"

    def written(self, event: KeysWritten) -> Outcomes:
        yield APPLIES
        if prefixed := event.keys.prefixed():
            yield self.found(
                event.when,
                f"{event.by} writes keys with the name of a wrapper in them, {prefixed.what.words}: "
                "only a model that is wrapped in the same way can load them",
                "these keys are not the model's own",
                (prefixed.what.when, "the wrapper is put on here"),
            )
