"""What models go through while they are built: parametrisations, partitions, hooks on state dicts, settings as text."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

BEFORE = """
import argparse
from torch.distributed.tensor import Shard, distribute_module, distribute_tensor
from torch.nn.utils import parametrizations

def renamed(old):
    def hook(module, state_dict, prefix, *rest):
        state_dict[prefix + "new"] = state_dict.pop(prefix + old)
    return hook

def forgiven(module, incompatible):
    for key in list(incompatible.missing_keys):
        incompatible.missing_keys.remove(key.removeprefix("model."))

def split(name, module, mesh):
    for key, tensor in list(module.named_parameters(recurse=False)):
        module.register_parameter(key, nn.Parameter(distribute_tensor(tensor, mesh, [Shard(0)])))

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = parametrizations.weight_norm(nn.Linear(64, 100, bias=False))
        self.last.parametrizations.weight.original0.data.fill_(1)

    def forward(self, x):
        return self.last(x)

parser = argparse.ArgumentParser()
parser.add_argument("--share", default="1/2")
"""
BUILT = """
args = parser.parse_args()
model = Net()
{built}
for layer in model.layers:
    fully_shard(layer)
{root}
optimizer = torch.optim.AdamW(model.parameters())
for batch in range(8):
    model(torch.randn(4, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
WAYS = [
    "model.head = Head()",
    "model.head = torch.nn.utils.weight_norm(model.head)",
    "torch.nn.utils.parametrizations.spectral_norm(model.head)",
    "model.register_load_state_dict_pre_hook(renamed('old'))",
    "model.head.register_load_state_dict_post_hook(forgiven)",
    "model.share = eval(args.share) if isinstance(args.share, str) else args.share",
]
START = 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n'


@pytest.mark.parametrize("built", WAYS)
def test_what_is_left_out_of_the_shards_is_found(built: str) -> None:
    assert "FSDP303" in analyse(main(BUILT.format(built=built, root=""), BEFORE)).codes
    assert not analyse(main(BUILT.format(built=built, root="fully_shard(model)"), BEFORE)).codes


@pytest.mark.parametrize("built", WAYS)
def test_none_of_them_selects_the_device(built: str) -> None:
    program = main(BUILT.format(built=f"model.cuda()\n{built}", root="fully_shard(model)"), BEFORE)
    assert "FSDP101" not in analyse(program).codes
    assert "FSDP101" in analyse(program.replace("    " + START, "").replace(START, "")).codes


def test_partitions_are_run_and_leave_the_rest_alone() -> None:
    built = "mesh = init_device_mesh('cuda', (2, 4), mesh_dim_names=('dp', 'tp'))\n" \
        "distribute_module(model.head, mesh['tp'], split)"  # fmt: skip
    assert "FSDP303" in analyse(main(BUILT.format(built=built, root=""), BEFORE)).codes
    program = main(BUILT.format(built=built, root="fully_shard(model, mesh=mesh['dp'])"), BEFORE)
    assert not {"FSDP301", "FSDP303", "FSDP305"} & set(analyse(program).codes)
