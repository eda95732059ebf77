"""How the model is sharded: the only file that calls fully_shard."""

from itertools import pairwise
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from config import Config
from model import LanguageModel


def parallelize(model: LanguageModel, mesh: DeviceMesh, config: Config) -> None:
    """Shard the model in place. Build the optimizer afterwards."""
    fsdp_kwargs: dict[str, Any] = {"mesh": mesh}
    if config.bf16:
        fsdp_kwargs["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16,
            reduce_dtype=torch.float32,
        )

    # Children first: the root call takes every parameter that has no group yet.
    for layer in model.layers:
        fully_shard(layer, **fsdp_kwargs)
    fully_shard(model, **fsdp_kwargs)

    # While one block computes, gather the next one as well.
    for layer, following in pairwise(model.layers):
        layer.set_modules_to_forward_prefetch([following])
