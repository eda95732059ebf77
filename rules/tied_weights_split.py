"""FSDP307: tied parameters lie in one group."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.groups import GroupSettled
from fsdp2_lint.vocab.rule import JUDGED, Outcome, Rule, Severity


class TiedWeightsSplit(Rule):
    code = "FSDP307"
    name = "tied-weights-split"
    summary = "tied parameters land in different groups"
    severity = Severity.ERROR
    witnesses = "SR"
    help = "shard both modules in one call, fully_shard([a, b]), or leave both to the root"

    def settled(self, event: GroupSettled) -> Iterator[Outcome]:
        group = event.group
        yield JUDGED
        tied, made = group.tied_elsewhere(), group.made()
        if not tied:
            return
        for name, earlier in tied:
            if made:
                yield self.found(
                    made.what,
                    f"{name} is tied to a parameter that another group has taken: the two are one no longer",
                    "this call takes the parameter a second time",
                    (earlier, "it is sharded here already, under its other name"),
                )
