"""FSDP902: ``fully_shard`` takes none of FSDP1's keywords."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.plans import KeywordPassed
from fsdp2_lint.vocab.rule import JUDGED, Outcome, Rule, Severity

# What FSDP1 took, and what says the same in FSDP2.
INSTEAD = {
    "auto_wrap_policy": "call fully_shard on each block, then on the root",
    "sharding_strategy": "reshard_after_forward (FULL_SHARD: True, SHARD_GRAD_OP: False), "
    "and a 2-D mesh for HYBRID_SHARD",
    "mixed_precision": "mp_policy=MixedPrecisionPolicy(...)",
    "cpu_offload": "offload_policy=CPUOffloadPolicy()",
    "device_mesh": "mesh=",
    "process_group": "mesh=",
    "ignored_states": "ignored_params=",
    "ignored_modules": "ignored_params=",
    "device_id": "torch.cuda.set_device(local_rank) before the mesh is made",
    "sync_module_states": "set_model_state_dict with broadcast_from_rank0=True",
    "param_init_fn": "to_empty() and an initialisation after sharding",
    "use_orig_params": "nothing: FSDP2 always keeps the original parameters",
    "limit_all_gathers": "nothing: FSDP2 needs no rate limiter",
    "forward_prefetch": "set_modules_to_forward_prefetch()",
    "backward_prefetch": "set_modules_to_backward_prefetch()",
    "policy": "call fully_shard on each block, then on the root",
    "strategy": "reshard_after_forward=",
}


class Fsdp1Keyword(Rule):
    code = "FSDP902"
    name = "fsdp1-keyword"
    summary = "a keyword of FSDP1 is passed to fully_shard"
    severity = Severity.ERROR
    witnesses = "S"
    help = "use the FSDP2 keyword that says the same"

    def passed(self, event: KeywordPassed) -> Iterator[Outcome]:
        yield JUDGED
        if event.keyword in INSTEAD:
            yield self.found(
                event.when,
                f"{event.keyword}= is a keyword of FSDP1: fully_shard raises a TypeError",
                f"FSDP2 has instead: {INSTEAD[event.keyword]}",
                fix=event.fix,
            )
