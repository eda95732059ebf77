"""Checkpoints: what only the source shows, and what it cannot show."""

from __future__ import annotations

import pytest

from tests.static.program import FOOT, HEAD, NET, analyse

CHECKPOINTS = """\
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict

FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)
"""
BUILD = """

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(0)
    model = Net()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
"""


def found(body: str) -> list[str]:
    """Codes of the clauses on checkpoints."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    codes = analyse(HEAD + CHECKPOINTS + NET + BUILD + lines + FOOT).codes
    return [code for code in codes if code.startswith("FSDP7")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('dcp.load({"step": 0}, checkpoint_id="x")', ["FSDP703"]),
        ('dcp.load({"model": get_model_state_dict(model, options=FULL)}, checkpoint_id="x")', ["FSDP703"]),
        ('state = {"step": 0}\ndcp.load(state, checkpoint_id="x")', []),
        ('dcp.load({}, checkpoint_id="x", planner=make_planner())', []),
        ('get_optimizer_state_dict(model, optimizer)\ndcp.load(optimizer.state_dict(), checkpoint_id="x")', []),
        ('warm_up(model, optimizer)\ndcp.load(optimizer.state_dict(), checkpoint_id="x")', []),
        ('dcp.load(optimizer.state_dict(), checkpoint_id="x")', ["FSDP703"]),
    ],
)
def test_what_a_load_fills(body: str, expected: list[str]) -> None:
    assert found(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('saves = [dcp.async_save(model.state_dict(), checkpoint_id="x")]', []),
        ('save = dcp.async_save(model.state_dict(), checkpoint_id="x")\nsave.add_done_callback(print)', []),
        ('save = dcp.async_save(model.state_dict(), checkpoint_id="x")', ["FSDP706"]),
        ('optimizer.save = dcp.async_save(model.state_dict(), checkpoint_id="x")', ["FSDP706"]),
    ],
)
def test_what_becomes_of_a_save(body: str, expected: list[str]) -> None:
    assert found(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('fast = torch.compile(model)\ndcp.save(fast.state_dict(), checkpoint_id="x")', ["FSDP709"]),
        ('fast = torch.compile(model)\ndcp.save(model.state_dict(), checkpoint_id="x")', []),
        ('fast = torch.compile(model)\nfast = fast._orig_mod\ndcp.save(fast.state_dict(), checkpoint_id="x")', []),
    ],
)
def test_keys_of_a_compiled_model(body: str, expected: list[str]) -> None:
    assert found(body) == expected


SAVES = """
for step, batch in enumerate(torch.load("batches")):
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    {first}
    optimizer.step()
    optimizer.zero_grad()
{last}
"""
READ = "get_optimizer_state_dict(model, optimizer)"


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (READ, "", ["FSDP704"]),
        (READ, READ, ["FSDP704"]),
        (f"assert len(batch) < 9\n    {READ}", READ, ["FSDP704"]),
        (f"if len(batch) > 9:\n        raise ValueError\n    {READ}", "optimizer.load_state_dict(batch)", ["FSDP704"]),
        (f"if RARE or step >= 0:\n        {READ}", "optimizer.load_state_dict(torch.load('x'))", []),
        (f"if step > 5:\n        {READ}", READ, []),
        ("pass", READ, []),
        (f"if FULL is not None:\n        {READ}", f"if FULL is not None:\n    {READ}", ["FSDP704"]),
    ],
)
def test_what_comes_after_a_loop_fills_no_round_of_it(first: str, last: str, expected: list[str]) -> None:
    assert found(SAVES.format(first=first, last=last)) == expected


OTHER = """
other = {other}
batch = torch.ones(2, 8, dtype=torch.long)
model(batch).sum().backward()
optimizer.step()
optimizer.zero_grad()
dcp.save({{"model": model.state_dict(), "other": other.state_dict()}}, checkpoint_id="x")
"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("torch.optim.lr_scheduler.StepLR(optimizer, 1)", {"upheld"}),
        ("unseen_package.make(model)", {"unknown"}),
        ("optimizer", {"violated"}),
    ],
)
def test_whose_state_dict_has_numbered_keys(other: str, expected: set[str]) -> None:
    lines = "".join(f"    {line}\n" for line in OTHER.format(other=other).strip().splitlines())
    text = "import unseen_package\n" + HEAD + CHECKPOINTS + NET + BUILD + lines + FOOT
    assert {seen.words["FSDP713"] for seen in analyse(text).result.seen if "FSDP713" in seen.words} == expected


TEMPLATE = """

def template(model):
    return {{"model": get_model_state_dict(model, options={options})}}

"""


@pytest.mark.parametrize(
    ("options", "expected"), [("StateDictOptions(cpu_offload=True)", {"unknown"}), ("None", {"upheld"})]
)
def test_a_load_into_what_nobody_holds(options: str, expected: set[str]) -> None:
    """Copies on the CPU are lost; tensors of the model are filled."""
    text = HEAD + CHECKPOINTS + NET + TEMPLATE.format(options=options) + BUILD
    text += '    dcp.load(template(model), checkpoint_id="x")\n' + FOOT
    assert analyse(text).verdicts("FSDP703") == expected
