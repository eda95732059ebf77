"""A file that selects the device while it is imported, and one that could (FSDP101)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

TRAIN = """
dist.init_process_group("nccl")
model = Net().cuda()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
"""
SELECTS = """
import os
import torch

def select():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
"""
IMPORTS = [
    "import devices",
    "from devices import select",
    "import helpers",
    "import importlib\nimportlib.import_module('devices')",
]
AT_ONCE = [
    "select()",
    "if torch.cuda.is_available():\n    select()",
    "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))",
]


def _codes(imports: str, at_once: str) -> list[str]:
    files = {"train.py": script(TRAIN, imports), "helpers.py": "from devices import select"}
    return analyse({**files, "devices.py": f"{SELECTS}\n{at_once}\n"}).codes


@pytest.mark.parametrize("imports", IMPORTS)
@pytest.mark.parametrize("at_once", AT_ONCE)
def test_to_import_it_may_select_the_device(imports: str, at_once: str) -> None:
    assert "FSDP101" not in _codes(imports, at_once)
    assert "FSDP101" in _codes(imports, "")
    assert "FSDP101" in _codes(imports, "STEPS = {'start': select}")
    assert "FSDP101" in _codes(imports, "if __name__ == '__main__':\n    select()")


def test_nobody_imports_it() -> None:
    assert "FSDP101" in _codes("import os", "select()")
