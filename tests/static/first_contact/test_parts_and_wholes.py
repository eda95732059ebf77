"""A part of a model is no model, the root of a container is no group, and one process has the first device."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HEADS = """
class Head(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.mlp = nn.Sequential(*[nn.Linear(width, width) for _ in range(3)], nn.Linear(width, out))

    def forward(self, x):
        return self.mlp(x)


class Both(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, x):
        return self.head(self.backbone(x))
"""
START = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
width, out = int(os.environ["WIDTH"]), int(os.environ["OUT"])
"""
TRAINED = """
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


IN_PARTS = """
for layer in model.backbone.layers:
    fully_shard(layer)
fully_shard(model.backbone)
fully_shard(model.head)
"""


@pytest.mark.parametrize(
    ("shard", "expected"),
    [
        (IN_PARTS, []),
        ("fully_shard(model.backbone)\nfully_shard(model.head)", []),
        ("fully_shard(model)", ["FSDP301"]),
    ],
)
def test_the_group_of_a_part(shard: str, expected: list[str]) -> None:
    body = f"{START}model = Both(Net(), Head(width, out))\n{shard}\n{TRAINED}"
    assert [code for code in analyse(script(body, HEADS)).codes if code == "FSDP301"] == expected


MESHES = "from torch.distributed.device_mesh import init_device_mesh\nimport copy\n"
TWO = 'mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp_replicate", "dp_shard"))\n'


@pytest.mark.parametrize("model", ["nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])", "copy.deepcopy(template)"])
def test_the_root_of_a_container_has_nothing_of_its_own(model: str) -> None:
    body = f"{START}{TWO}template = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])\nmodel = {model}\n"
    body += f"for layer in model:\n    fully_shard(layer, mesh=mesh)\nfully_shard(model)\n{TRAINED}"
    assert "FSDP308" not in analyse(script(body, MESHES)).codes


def test_the_root_of_a_model_has() -> None:
    body = f"{START}{TWO}model = Net()\nfor layer in model.layers:\n    fully_shard(layer, mesh=mesh)\n"
    body += "fully_shard(model)\n"
    assert "FSDP308" in analyse(script(body + TRAINED, MESHES)).codes


@pytest.mark.parametrize(
    ("group", "expected"),
    [("'gloo', rank=0, world_size=1", []), ("'nccl', world_size=2", ["FSDP101"]), ("'nccl'", ["FSDP101"])],
)
def test_a_job_of_one_process_has_the_first_device(group: str, expected: list[str]) -> None:
    body = (
        f"dist.init_process_group({group})\nmodel = Net().cuda()\nfor layer in model.layers:\n    fully_shard(layer)\n"
    )
    body += f"fully_shard(model)\n{TRAINED}"
    assert [code for code in analyse(script(body)).codes if code == "FSDP101"] == expected
