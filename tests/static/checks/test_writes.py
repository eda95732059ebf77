"""Writes to ``.data`` of sharded parameters: lost, unless the module is gathered then."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MODEL = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
{before}
for parameter in model.parameters():
    parameter.data = parameter.data * 0.5
"""
LOOK = """
def look(model):
    model.unshard()
    for parameter in model.parameters(recurse=False):
        print(parameter.dtype)
    model.reshard()
"""


@pytest.mark.parametrize("before", [
    "pass",
    "look(model)",
    "model.unshard()\nmodel.reshard()",
    "if os.environ.get('LOOK'):\n    look(model)",
    "model.unshard()\nif os.environ.get('LOOK'):\n    print(model)\nmodel.reshard()",
])  # fmt: skip
def test_what_is_resharded_again_is_sharded(before: str) -> None:
    assert "FSDP205" in analyse(script(MODEL.format(before=before), LOOK)).codes


@pytest.mark.parametrize("before", [
    "model.unshard()",
    "model.reshard()\nmodel.unshard()",
    "look(model)\nmodel.unshard()",
    "model.unshard()\nmodel.layers[0].reshard()",
    "model.unshard()\nif os.environ.get('LOOK'):\n    model.reshard()",
])  # fmt: skip
def test_what_may_be_gathered_is_not_known_to_be_sharded(before: str) -> None:
    assert "FSDP205" not in analyse(script(MODEL.format(before=before), LOOK)).codes
