"""A rule that asks several things: what one of them leaves open does not hide what another one proves."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """\
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy

COMPUTE = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
PRECISE = MixedPrecisionPolicy(param_dtype=torch.float32)


def plan(model):
    for layer in model.layers:
        yield layer, COMPUTE
    yield model.head, PRECISE
    yield model, COMPUTE
"""
PROGRAM = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (4, 8), mesh_dim_names=("replicate", "shard"))
model = Net()
for module, policy in plan(model):
    fully_shard(module, mesh=GIVEN, mp_policy=policy)
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def told(given: str) -> list[str]:
    findings = analyse(script(PROGRAM.replace("GIVEN", given), IMPORTS)).result.findings
    return [each.message for each in findings if each.code == "FSDP308" and "left out" in each.message]


@pytest.mark.parametrize(
    "given", ['mesh["shard"] if policy is PRECISE else mesh', 'mesh if policy is not PRECISE else mesh["shard"]']
)
def test_two_objects_are_not_one(given: str) -> None:
    """Whether dtypes clash is not known here; that the head forgets the replicas is."""
    assert len(told(given)) == 1


@pytest.mark.parametrize("given", ["mesh", 'mesh if policy is COMPUTE or policy is PRECISE else mesh["shard"]'])
def test_all_on_one_mesh(given: str) -> None:
    assert not told(given)
