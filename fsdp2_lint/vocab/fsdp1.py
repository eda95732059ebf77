"""What FSDP1 took, and what says the same in FSDP2."""

from __future__ import annotations

KEYWORDS = {
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
DEFAULT_STRATEGY = "FULL_SHARD"
STRATEGIES = {
    "FULL_SHARD": "reshard_after_forward=True on the blocks; leave it out for the root",
    "SHARD_GRAD_OP": "reshard_after_forward=False",
    "HYBRID_SHARD": "a 2-D mesh (replicate, shard), and reshard_after_forward=True on the blocks",
    "_HYBRID_SHARD_ZERO2": "a 2-D mesh (replicate, shard), and reshard_after_forward=False",
    "NO_SHARD": "DistributedDataParallel: FSDP2 always shards",
}
