"""FSDP707: a dict that only rank 0 has is broadcast."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import StateSet
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class BroadcastOptionMisused(Rule):
    code = "FSDP707"
    summary = "a dict that only rank 0 has, without broadcast_from_rank0"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "give set_..._state_dict options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)"

    def state_set(self, event: StateSet) -> Outcomes:
        yield APPLIES
        empty, alone = event.setting.empty_here(), event.setting.broadcasts_shards()
        if not (empty | alone):
            return
        if empty.surely:
            yield self.found(
                event.when,
                f"{event.setting.name}() gets an empty state dict on some ranks, and no option says that "
                "rank 0 sends them its own",
                "the full state dict is on some ranks only",
                (empty.what.when, "broadcast_from_rank0 is not set here"),
            )
        if alone.surely:
            yield self.found(
                event.when,
                "broadcast_from_rank0=True needs full_state_dict=True: the call raises ValueError",
                "the options contradict each other",
                (alone.what.when, "the options are made here"),
            )
