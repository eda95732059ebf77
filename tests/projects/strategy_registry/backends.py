import os
from abc import ABC, abstractmethod

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

REGISTRY = {}


def register(name):
    def decorate(cls):
        REGISTRY[name] = cls
        return cls

    return decorate


class Backend(ABC):
    rank = 0
    world_size = 1

    def setup(self):
        local_rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(local_rank)
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()

    @abstractmethod
    def parallelize(self, model): ...

    @abstractmethod
    def full_state(self, model): ...

    def teardown(self):
        dist.destroy_process_group()


@register("single")
class SingleDevice(Backend):
    def setup(self):
        torch.cuda.set_device(0)

    def parallelize(self, model):
        return model.to("cuda")

    def full_state(self, model):
        return model.state_dict()

    def teardown(self):
        pass


@register("ddp")
class Replicated(Backend):
    def parallelize(self, model):
        return DistributedDataParallel(model.to("cuda"), gradient_as_bucket_view=True)

    def full_state(self, model):
        return model.module.state_dict()


@register("fsdp2")
class Sharded(Backend):
    def parallelize(self, model):
        mesh = init_device_mesh("cuda", (self.world_size,))
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in model.h:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        return fully_shard(model, mesh=mesh, mp_policy=policy)

    def full_state(self, model):
        return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))


def get_backend(name) -> Backend:
    return REGISTRY[name]()
