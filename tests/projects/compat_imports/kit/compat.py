"""One place that knows where each torch release keeps its names."""

import torch


def _release(version):
    major, minor = version.split("+")[0].split(".")[:2]
    return int(major), int(minor)


TORCH_RELEASE = _release(torch.__version__)

if TORCH_RELEASE >= (2, 6):
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
elif TORCH_RELEASE >= (2, 4):
    from torch.distributed._composable.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
else:
    FSDPModule, MixedPrecisionPolicy, fully_shard = None, None, None

try:
    from torch.distributed.tensor import DTensor
except ImportError:
    from torch.distributed._tensor import DTensor

__all__ = ["DTensor", "FSDPModule", "MixedPrecisionPolicy", "TORCH_RELEASE", "fully_shard"]
