"""A first dimension called ``pp``: stages of a pipeline, or ranks that share a sequence and have all of the model."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

MESH = """
mesh = init_device_mesh("cuda", (2, dist.get_world_size() // 2), mesh_dim_names={names})
model = Net()
{first}
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
{last}
"""
PIPELINE = "from torch.distributed.pipelining import PipelineStage\n"
STAGE = 'PipelineStage(model, mesh["pp"].get_local_rank(), 2, torch.device("cuda"), group=mesh.get_group("pp"))'


def verdict(names: tuple[str, ...], first: str = "pass", last: str = "pass") -> set[str]:
    body = MESH.replace("{names}", repr(names)).replace("{first}", first).replace("{last}", last)
    return analyse(main(body, PIPELINE)).verdicts("FSDP311")


def test_the_name_alone_makes_no_pipeline() -> None:
    assert verdict(("pp", "dp")) == {"unknown"}
    assert verdict(("pp", "dp"), last="group = mesh['pp'].get_group()") == {"unknown"}
    assert verdict(("stage", "data")) == {"unknown"}


@pytest.mark.parametrize("where", ["first", "last"])
def test_stages_do(where: str) -> None:
    assert "violated" in verdict(("pp", "dp"), **{where: STAGE})
    assert "violated" not in verdict(("dp_replicate", "dp_shard"), **{where: STAGE.replace("pp", "dp_replicate")})


def test_what_is_read_the_wrong_way_round_is_told_without() -> None:
    assert "violated" in verdict(("dp_shard", "pp")) and "violated" in verdict(("dp", "tp"))
