"""A loader that returns where there is no checkpoint yet: on the first start nothing is loaded."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

IMPORTS = """
from pathlib import Path
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

def fill(model, optimizer, folder):
    weights, moments = get_state_dict(model, optimizer)
    dcp.load({"model": weights, "optimizer": moments}, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)

def newest():
    for folder in sorted(Path("runs").glob("step-*"), reverse=True):
        if folder.is_dir():
            return folder
    return None
"""
LOADERS = [
    "def resume(model, optimizer):\n    folder = newest()\n    if folder is None:\n        return\n"
    "    fill(model, optimizer, folder)\n",
    "def resume(model, optimizer):\n    if folder := newest():\n        fill(model, optimizer, folder)\n",
    "def resume(model, optimizer):\n    if not os.path.exists('runs/last'):\n        print('a new run')\n"
    "        return 0\n    fill(model, optimizer, 'runs/last')\n    return 1\n",
]
META = """
with torch.device("meta"):
    model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters())
"""
STEPS = """
for step in range(10):
    model(torch.zeros(2, 8, dtype=torch.long, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
RESET = "for part in model.modules():\n    if hasattr(part, 'reset_parameters'):\n        part.reset_parameters()\n"


@pytest.mark.parametrize("loader", LOADERS)
def test_the_first_start_trains_from_what_was_in_memory(loader: str) -> None:
    assert "FSDP201" in analyse(main(f"{META}resume(model, optimizer)\n{STEPS}", IMPORTS + loader)).codes


@pytest.mark.parametrize("loader", LOADERS)
def test_not_where_it_is_initialised_before(loader: str) -> None:
    seen = analyse(main(f"{META}{RESET}resume(model, optimizer)\n{STEPS}", IMPORTS + loader))
    assert "FSDP201" not in seen.codes


def test_not_where_the_load_always_comes() -> None:
    seen = analyse(main(f"{META}fill(model, optimizer, 'runs/last')\n{STEPS}", IMPORTS))
    assert "FSDP201" not in seen.codes
