"""FSDP307: tied parameters lie in one group."""

from __future__ import annotations

from fsdp2_lint.vocab.behaviour import TIED_ACROSS_GROUPS_IS_REFUSED
from fsdp2_lint.vocab.events.sharding import GroupSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity
from fsdp2_lint.vocab.target import in_words


class TiedWeightsSplit(Rule):
    code = "FSDP307"
    summary = "tied parameters land in different groups"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "shard both modules in one call, fully_shard([a, b]), or leave both to the root"

    def _consequence(self) -> str:
        version, refused = in_words(self.target), TIED_ACROSS_GROUPS_IS_REFUSED.of(self.target)
        return f"{version} refuses it" if refused else f"in {version} the two are one no longer"

    def settled(self, event: GroupSettled) -> Outcomes:
        group = event.group
        yield APPLIES
        tied, made = group.tied_elsewhere(), group.made()
        if not tied or not TIED_ACROSS_GROUPS_IS_REFUSED.of(self.target) and group.tied_again():
            return
        for name, earlier in tied:
            if made:
                yield self.found(
                    made.what,
                    f"{name} is tied to a parameter that another group has taken: {self._consequence()}",
                    "this call takes the parameter a second time",
                    (earlier, "it is sharded here already, under its other name"),
                )
