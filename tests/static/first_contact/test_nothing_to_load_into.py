"""Dicts with nothing in them for a load to fill, and keywords that no torch ever had: both were taken as they stand."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

DCP = "import torch.distributed.checkpoint as dcp\nfrom torch.distributed.device_mesh import init_device_mesh\n"
STEPS = """
optimizer = torch.optim.AdamW(model.parameters())
for step in range(10):
    model(torch.zeros(2, 8, dtype=torch.long, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
EMPTY = [
    'state = {"model": {}}',
    'state = {"model": {}, "optimizer": {"state": {}}}',
    'state = {}\nfor part in ("model", "optimizer"):\n    state[part] = {}',
    "state = dict(model=dict())",
]
FILLED = [
    'state = {"model": model.state_dict()}',
    'state = {"model": model.state_dict(), "further": {}}',
    'state = {"model": {}}\nstate["model"].update(model.state_dict())',
    'state = {"model": {}}\nfor name, value in model.state_dict().items():\n    state["model"][name] = value',
]


def loading(state: str) -> str:
    load = '\ndcp.load(state, checkpoint_id="last")\nmodel.load_state_dict(state["model"], strict=False)\n'
    return main(SHARDED + state + load + STEPS, DCP)


@pytest.mark.parametrize("state", EMPTY)
def test_nothing_but_empty_dicts_is_nothing(state: str) -> None:
    assert analyse(loading(state)).codes == ["FSDP703"]


@pytest.mark.parametrize("state", FILLED)
def test_a_dict_in_which_anything_is_can_be_filled(state: str) -> None:
    seen = analyse(loading(state))
    assert "FSDP703" not in seen.codes


def test_what_another_file_filled_is_not_known_to_be_empty() -> None:
    assert (
        "FSDP703"
        not in analyse(loading('state = {"model": {}}\nfill(state)').replace(DCP, f"{DCP}from x import fill\n")).codes
    )


INVENTED = [
    ("fully_shard(model, ", "reshard_after_backward=True"),
    ("fully_shard(model, ", "**{'shard_size': 8}"),
    ("MixedPrecisionPolicy(", "buffer_dtype=torch.bfloat16"),
    ("init_device_mesh('cuda', (8,), ", "dim_names=('dp',)"),
]


@pytest.mark.parametrize(("call", "keyword"), INVENTED)
def test_a_keyword_that_no_torch_ever_had(call: str, keyword: str) -> None:
    text = main(f"{SHARDED.replace('fully_shard(model)', '')}policy = {call}{keyword})\n", DCP + POLICY)
    assert "FSDP906" in analyse(text).codes
    assert "FSDP906" not in analyse(text.replace(keyword, "")).codes


POLICY = "from torch.distributed.fsdp import MixedPrecisionPolicy\n"
RIGHT = [
    "fully_shard(model, reshard_after_forward=True)",
    "fully_shard(model, **read())",
    "fully_shard(model, device_id=0)",
    "shard(model, reshard_after_backward=True)",
    "model.anything(reshard_after_backward=True)",
    "try:\n    fully_shard(model, reshard_after_backward=True)\nexcept TypeError:\n    fully_shard(model)",
]


@pytest.mark.parametrize("call", RIGHT)
def test_keywords_that_are_there_or_not_torch_s(call: str) -> None:
    """FSDP1's have FSDP902 for them."""
    helpers = "from x import read\n\ndef shard(model, **kwargs):\n    return fully_shard(model)\n"
    text = main(f"{SHARDED.replace('fully_shard(model)', '')}{call}\n", DCP + helpers)
    assert "FSDP906" not in analyse(text).codes


AVERAGED = """
class Average:
    def __init__(self, model):
        self.mean = {name: p.detach().clone() for name, p in model.named_parameters()}

    def state_dict(self):
        return {name: each.clone() for name, each in self.mean.items()}

"""


@pytest.mark.parametrize(
    "state",
    [
        "Average(model).state_dict()",
        "{n: p.detach().clone() for n, p in model.named_parameters()}",
        "{k: v.detach().clone() for k, v in model.state_dict().items()}",
    ],
)
def test_whether_anybody_keeps_copies_is_not_known(state: str) -> None:
    for more, expected in ((f', "mean": {state}', "unknown"), ("", "upheld")):
        load = f'state = {{"model": model.state_dict(){more}}}\ndcp.load(state, checkpoint_id="last")\n'
        load += 'model.load_state_dict(state["model"])\n'
        assert analyse(main(SHARDED + load + STEPS, DCP + AVERAGED)).verdicts("FSDP703") == {expected}
