"""A file that all ranks write, for which only rank 0 has what belongs in it: who writes is seen, or not known."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

HELPERS = """
import argparse
import io
from pathlib import Path
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
from unseen import main_only
from safetensors.torch import save_file

WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)

@main_only
def guarded(state):
    torch.save(state, "last.pt")

def write(state, name="last.pt"):
    torch.save({"model": state, "step": 7}, Path("runs") / name)

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="runs")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--name")
    return parser.parse_args()
"""
GATHERED = "state = get_model_state_dict(model, options=WHOLE)\n"
BY_ALL = [
    "torch.save(state, 'last.pt')",
    "write(state)",
    "with open('last.pt', 'wb') as file:\n    torch.save(state, file)",
    "torch.save(state, os.path.join(options().out, 'last.pt'))",
    "torch.save(state, options().name)",
    "save_file(state, 'last.safetensors')",
    "try:\n    torch.save(state, 'last.pt')\nfinally:\n    dist.barrier()",
    "torch.save({name: value.bfloat16() for name, value in state.items()}, 'last.pt')",
    "path = Path('runs') / 'last.pt'\ntorch.save(state, path.with_suffix(path.suffix + '.part'))",
]
BY_ONE = [
    "if dist.get_rank() == 0:\n    torch.save(state, 'last.pt')",
    "if state:\n    torch.save(state, 'last.pt')",
    "if not state:\n    return\nwrite(state)",
    "if int(os.environ['LOCAL_RANK']) == 0:\n    write(state)",
    "torch.save(state, f'{dist.get_rank()}.pt')",
    "path = Path(f'{dist.get_rank()}.pt')\ntorch.save(state, path.with_suffix('.part'))",
    "torch.save(state, io.BytesIO())",
]
NOT_KNOWN = [
    "if options().save:\n    write(state)",
    "guarded(state)",
    "if len(state) > 0:\n    write(state)",
    "model.save_pretrained('out', state_dict=state)",
    "state = {name: value.bfloat16() for name, value in state.items()}\nguarded(state)",
]


@pytest.mark.parametrize("save", BY_ALL)
def test_all_ranks_overwrite_what_one_has(save: str) -> None:
    assert "FSDP714" in analyse(main(f"{SHARDED}{GATHERED}{save}\n", HELPERS)).codes


@pytest.mark.parametrize("save", BY_ALL)
def test_not_what_all_of_them_have(save: str) -> None:
    everywhere = HELPERS.replace(", cpu_offload=True", "")
    assert "FSDP714" not in analyse(main(f"{SHARDED}{GATHERED}{save}\n", everywhere)).codes


IN_TURN = [
    "for step in range(100):\n    if step % 10 == 0:\n        save(model)",
    "for step, batch in enumerate(batches):\n    if (step + 1) % options().every == 0:\n        save(model)",
    "if options().save:\n    save(model)",
]


@pytest.mark.parametrize("loop", IN_TURN)
def test_who_gathers_under_a_condition_writes_under_it(loop: str) -> None:
    body = GATHERED.replace("\n", "\n    ")
    both = f"def save(model):\n    {body}write(state)\n"
    assert "FSDP714" in analyse(main(f"{SHARDED}{loop}\n", HELPERS + both)).codes
    further = both.replace("write(state)", "if options().main:\n        write(state)")
    assert "FSDP714" not in analyse(main(f"{SHARDED}{loop}\n", HELPERS + further)).codes


@pytest.mark.parametrize("save", BY_ONE + NOT_KNOWN)
def test_not_where_one_rank_may_write(save: str) -> None:
    assert "FSDP714" not in analyse(main(f"{SHARDED}{GATHERED}{save}\n", HELPERS)).codes


def test_the_state_of_the_optimizer_too() -> None:
    steps = "optimizer = torch.optim.AdamW(model.parameters())\n"
    steps += "state = get_optimizer_state_dict(model, optimizer, options=WHOLE)\nwrite(state)\n"
    assert "FSDP714" in analyse(main(SHARDED + steps, HELPERS)).codes


@pytest.mark.parametrize(("ask", "hangs"), [("if state:", True), ("if state or True:", False)])
def test_an_empty_dict_is_false_on_the_other_ranks(ask: str, hangs: bool) -> None:
    codes = analyse(main(f"{SHARDED}{GATHERED}{ask}\n    dist.barrier()\n", HELPERS)).codes
    assert ("FSDP801" in codes) is hangs
