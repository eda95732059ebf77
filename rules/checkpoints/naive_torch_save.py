"""FSDP701: a file must not hold one rank's shards as if they were the model."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import Saved
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class NaiveTorchSave(Rule):
    code = "FSDP701"
    summary = "torch.save or safetensors of a state dict that holds DTensors"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = (
        "use torch.distributed.checkpoint.save, or gather on all ranks (get_model_state_dict, "
        "get_optimizer_state_dict, with options=StateDictOptions(full_state_dict=True, cpu_offload=True)) and save on "
        "rank 0"
    )

    def saved(self, event: Saved) -> Outcomes:
        yield APPLIES
        shards = event.payload.shards()
        if not shards:
            return
        own_file = event.payload.path_per_rank()
        what = " and ".join(part.words for part in shards)
        read = [(part.read_at, "read here, as shards") for part in shards if part.read_at is not None]
        if event.raises:
            yield self.found(
                event.when,
                f"{event.by} gets {what}: it cannot read the memory of a DTensor, and raises",
                "nothing is written here",
                *read,
            )
        elif own_file.surely:
            yield self.found(
                event.when,
                f"{event.by} writes {what}: one file per rank, readable only at this world size",
                "each file holds this rank's shards only",
                *read,
                severity=Severity.WARNING,
            )
        elif own_file.possibly:
            yield self.found(
                event.when,
                f"{event.by} writes {what}: a file has one rank's shards only, even if each rank writes its own",
                "the file holds this rank's shards only",
                *read,
                severity=Severity.WARNING,
            )
        else:
            yield self.found(
                event.when,
                f"{event.by} writes {what}: only this rank's shards reach the file",
                "the other ranks' shards are lost",
                *read,
            )
