"""How the model is sharded."""

from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard

from model import Net


def parallelize(model: Net, mesh: DeviceMesh) -> None:
    """Shard the model in place."""
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
