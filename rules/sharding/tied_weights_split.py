"""FSDP307: tied parameters lie in one group."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.groups import GroupSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity
from fsdp2_lint.vocab.target import in_words

REFUSED_SINCE = (2, 12)  # at the first forward; before, each copy goes its own way in silence


class TiedWeightsSplit(Rule):
    code = "FSDP307"
    name = "tied-weights-split"
    summary = "tied parameters land in different groups"
    severity = Severity.ERROR
    witnesses = "SR"
    help = "shard both modules in one call, fully_shard([a, b]), or leave both to the root"

    def _consequence(self) -> str:
        version = in_words(self.target)
        return f"{version} refuses it" if self.target >= REFUSED_SINCE else f"in {version} the two are one no longer"

    def settled(self, event: GroupSettled) -> Iterator[Outcome]:
        group = event.group
        yield APPLIES
        tied, made = group.tied_elsewhere(), group.made()
        if not tied or self.target < REFUSED_SINCE and group.tied_again():
            return
        for name, earlier in tied:
            if made:
                yield self.found(
                    made.what,
                    f"{name} is tied to a parameter that another group has taken: {self._consequence()}",
                    "this call takes the parameter a second time",
                    (earlier, "it is sharded here already, under its other name"),
                )
