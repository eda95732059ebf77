"""FSDP901: FSDP2 is imported by its public path."""

from __future__ import annotations

from fsdp2_lint.vocab.behaviour import FSDP2_IS_PUBLIC
from fsdp2_lint.vocab.events.migration import Imported
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class PrivateImportPath(Rule):
    code = "FSDP901"
    summary = "FSDP2 is imported by a private path although the public one exists"
    severity = Severity.WARNING
    judged_by = "S"
    help = "import it from torch.distributed.fsdp (public since torch 2.6)"

    def imported(self, event: Imported) -> Outcomes:
        if not FSDP2_IS_PUBLIC.of(self.target):
            return
        yield APPLIES
        if not event.gated:
            yield self.found(
                event.when,
                f"{event.path} is private: torch may move it without notice",
                f"{event.public} is the public name {FSDP2_IS_PUBLIC.versions} on",
                fix=event.fix,
            )
