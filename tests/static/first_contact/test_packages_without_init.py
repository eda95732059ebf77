"""A package needs no ``__init__.py``: ``from . import parallel`` is the file beside the one that imports it."""

from __future__ import annotations

import pytest

from tests.static.program import FOOT, HEAD, NET, analyse

PARALLEL = (
    HEAD + "\n\ndef shard(model):\n    for layer in model.layers:\n        fully_shard(layer)\n    fully_shard(model)\n"
)
TRAIN = """
def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    {module}.shard(model)
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()
"""
IMPORTS = {
    "beside": ("from . import parallel", "parallel", "job/parallel.py"),
    "under another name": ("from . import parallel as spread", "spread", "job/parallel.py"),
    "in a folder beside": ("from .tools import parallel", "parallel", "job/tools/parallel.py"),
    "by the package's name": ("from job import parallel", "parallel", "job/parallel.py"),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_a_module_of_a_package_without_init(name: str) -> None:
    line, module, file = IMPORTS[name]
    train = f"{HEAD}{line}\n\n{NET}\n{TRAIN.format(module=module)}{FOOT}"
    assert analyse({"job/train.py": train, file: PARALLEL}).codes == ["FSDP601"]
