"""What is known of PEFT's getters (FSDP701), and of loads that allow for names that do not fit (FSDP703)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """\
import sys
import diffusers
import transformers
from settings import options
import store
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import DefaultLoadPlanner, FileSystemReader
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
"""
SHARDED = "for layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
ADAPTED = "model = get_peft_model(Net(), LoraConfig())\nfully_shard(model)\n"
LOADED = "model = transformers.AutoModel.from_pretrained('m')\n"
ON_RANK_0 = "if dist.get_rank() == 0:\n    "
PRETRAINED = "model.save_pretrained('out')"
WRITTEN = "if dist.get_rank() == 0:\n    torch.save(get_peft_model_state_dict({}), 'adapter.pt')"
FULL = "state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))\n"
LENIENT = "set_model_state_dict(model, torch.load('x'), options=StateDictOptions(full_state_dict=True, strict=False))"
OWN = "model.load_state_dict({f'model.{name}': value for name, value in store.read().items()}, strict=False)"
PARTIAL = "dcp.load({{'net': model.state_dict()}}, planner=DefaultLoadPlanner(allow_partial_load={}))"


def codes(body: str) -> set[str]:
    return {code for code in analyse(script(body, IMPORTS)).codes if code in ("FSDP701", "FSDP703")}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("model = Net()\n" + SHARDED + WRITTEN.format("model"), {"FSDP701"}, id="adapters in the model"),
        pytest.param(ADAPTED + WRITTEN.format("model"), {"FSDP701"}, id="adapters around the model"),
        pytest.param(
            "model = Net()\n" + SHARDED + "state = model.state_dict()\n" + WRITTEN.format("model, state_dict=state"),
            {"FSDP701"},
            id="of a dict that is not gathered",
        ),
        pytest.param(
            "model = Net()\n" + SHARDED + FULL + WRITTEN.format("model, state"), set(), id="of a gathered dict"
        ),
        pytest.param("model = Net()\n" + WRITTEN.format("model") + "\n" + SHARDED, set(), id="before sharding"),
        pytest.param("model = Net()\n" + WRITTEN.format("model"), set(), id="not sharded"),
        pytest.param(ADAPTED + PRETRAINED, {"FSDP701"}, id="saved by PEFT"),
        pytest.param(ADAPTED + ON_RANK_0 + PRETRAINED, {"FSDP701"}, id="saved by PEFT on one rank"),
        pytest.param(
            ADAPTED + FULL + PRETRAINED.replace(")", ", state_dict=state)"), set(), id="given to PEFT after gathering"
        ),
        pytest.param(LOADED + SHARDED + ON_RANK_0 + PRETRAINED, {"FSDP701"}, id="saved by transformers on one rank"),
        pytest.param(LOADED + SHARDED + PRETRAINED, set(), id="some versions of transformers gather"),
        pytest.param(LOADED + ON_RANK_0 + PRETRAINED + "\n" + SHARDED, set(), id="saved before sharding"),
        pytest.param(
            LOADED + SHARDED + FULL + ON_RANK_0 + PRETRAINED.replace(")", ", state_dict=state)"),
            set(),
            id="given to transformers after gathering",
        ),
        pytest.param(
            LOADED
            + SHARDED
            + "state = get_model_state_dict(model, options=options())\n"
            + ON_RANK_0
            + PRETRAINED.replace(")", ", state_dict=state)"),
            set(),
            id="gathered by options that were not seen",
        ),
        pytest.param("model = Net()\n" + SHARDED + ON_RANK_0 + PRETRAINED, set(), id="a method that was not seen"),
        pytest.param(
            LOADED.replace("transformers.AutoModel", "diffusers.UNet2DConditionModel") + SHARDED + PRETRAINED,
            {"FSDP701"},
            id="saved by diffusers",
        ),
        pytest.param(
            "tokenizer = transformers.AutoTokenizer.from_pretrained('m')\n"
            + LOADED
            + SHARDED
            + ON_RANK_0
            + "tokenizer.save_pretrained('out')",
            set(),
            id="a tokenizer",
        ),
        pytest.param("model = Net()\n" + SHARDED + LENIENT, {"FSDP703"}, id="names may be missing"),
        pytest.param("model = Net()\n" + SHARDED + "keys = " + LENIENT, set(), id="the result is kept"),
        pytest.param("model = Net()\n" + SHARDED + LENIENT.replace(", strict=False", ""), set(), id="strict"),
        pytest.param(
            "model = Net()\n" + SHARDED + LENIENT.replace("False", "'lax' not in sys.argv"), set(), id="a setting"
        ),
        pytest.param("model = Net()\n" + LENIENT + "\n" + SHARDED, set(), id="loaded before sharding"),
        pytest.param("model = Net()\n" + SHARDED + OWN, {"FSDP703"}, id="by the model itself"),
        pytest.param("model = Net()\n" + SHARDED + "unfit = " + OWN, set(), id="by the model itself, and kept"),
        pytest.param("model = Net()\n" + OWN + "\n" + SHARDED, set(), id="by the model itself, before sharding"),
        pytest.param(
            "model = Net()\n" + SHARDED + OWN.replace("False", "'lax' not in sys.argv"),
            set(),
            id="a setting",
        ),
        pytest.param(
            "model = Net()\n" + SHARDED + "state = model.state_dict()\ndcp.load(state, checkpoint_id='x')\n"
            "model.load_state_dict(state, strict=False)",
            set(),
            id="what the model gave itself",
        ),
        pytest.param("model = Net()\n" + SHARDED + PARTIAL.format("True"), {"FSDP703"}, id="a planner that allows it"),
        pytest.param("model = Net()\n" + SHARDED + PARTIAL.format("False"), set(), id="a planner that does not"),
        pytest.param("model = Net()\n" + SHARDED + PARTIAL.format("'x' in sys.argv"), set(), id="by a setting"),
        pytest.param(
            "model = Net()\n" + SHARDED + "names = FileSystemReader('x').read_metadata().state_dict_metadata\n"
            "assert 'net.head.weight' in names\n" + PARTIAL.format("True"),
            set(),
            id="the names in the checkpoint are read",
        ),
        # Frozen parameters are left out by the getter, so the names fit by construction.
        pytest.param(
            "model = Net()\n"
            + SHARDED
            + "state = {'model': get_model_state_dict(model, options=StateDictOptions(ignore_frozen_params=True))}\n"
            + "dcp.load(state, checkpoint_id='x')\n"
            + LENIENT.replace("torch.load('x')", "state['model']"),
            set(),
            id="a dict that the model gave itself",
        ),
    ],
)
def test_what_is_written_and_loaded(body: str, expected: set[str]) -> None:
    assert codes(body) == expected
