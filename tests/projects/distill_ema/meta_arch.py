import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from models import build_encoder


class SelfDistillation(nn.Module):
    """A student and its teacher; the teacher is a moving average of the student."""

    def __init__(self, args):
        super().__init__()
        self.student = build_encoder(args)
        self.teacher = build_encoder(args)
        self.teacher.requires_grad_(False)
        self.temperature = args.temperature

    def prepare(self, mesh, device):
        for network in (self.student, self.teacher):
            self._shard(network, mesh)
            network.to_empty(device=device)
        self.student.reset_parameters()
        self._copy_student()
        self.teacher.eval()

    @staticmethod
    def _shard(network, mesh):
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for unit in network.units:
            fully_shard(unit, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
        fully_shard(network, mesh=mesh, mp_policy=policy, reshard_after_forward=True)

    @torch.no_grad()
    def _copy_student(self):
        self.teacher.load_state_dict(self.student.state_dict())

    @torch.no_grad()
    def update_teacher(self, momentum):
        for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
            slow.lerp_(fast.detach(), 1.0 - momentum)

    def forward(self, view_a, view_b):
        with torch.no_grad():
            target = (self.teacher(view_a).float() / self.temperature).softmax(dim=-1)
        prediction = (self.student(view_b).float() / 0.1).log_softmax(dim=-1)
        return -(target * prediction).sum(dim=-1).mean()


def export_teacher(arch, path):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(arch.teacher, options=options)
    if dist.get_rank() == 0:
        torch.save(weights, path)
