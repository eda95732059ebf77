from collections.abc import Iterable

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


def collect_units(model: nn.Module, unit_classes: tuple[type[nn.Module], ...]) -> list[nn.Module]:
    """Modules that become one FSDP group each, innermost last as modules() yields them."""
    units = []
    for _name, module in model.named_modules():
        if isinstance(module, unit_classes) and module is not model:
            units.append(module)
    return units


def shard_units(units: Iterable[nn.Module], **kwargs) -> int:
    count = 0
    for unit in units:
        if isinstance(unit, FSDPModule):
            continue
        fully_shard(unit, **kwargs)
        count += 1
    return count


def wrap_fsdp2(model: nn.Module, mesh: DeviceMesh, unit_classes: tuple[type[nn.Module], ...]) -> nn.Module:
    kwargs = {
        "mesh": mesh,
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.bfloat16
        ),
    }
    units = collect_units(model, unit_classes)
    if not units:
        raise ValueError(f"no module of {unit_classes} in {type(model).__name__}")
    shard_units(units, **kwargs)
    fully_shard(model, **kwargs)
    return model
