"""Models whose class stands in a function that imports torch itself, as jobs of Modal and Ray and notebooks have it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse

JOB = """
import os


def job():
    import torch
    import torch.distributed as dist
    {imports}
    from torch.distributed.fsdp import fully_shard

    {before}
    class Net({base}):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(8)])
            self.last = nn.Linear(64, 64)

        {marked}
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.last(x)

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Net()
    for layer in model.layers:
        fully_shard(layer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.ones(2, 64)).sum().backward()
    optimizer.step()


if __name__ == "__main__":
    job()
"""
BASE = "class Base(nn.Module):\n        pass\n"


@pytest.mark.parametrize(
    ("imports", "before", "base", "marked"),
    [
        ("import torch.nn as nn", "", "nn.Module", ""),
        ("from torch import nn", "", "nn.Module", ""),
        ("from torch import nn", "", "torch.nn.Module", ""),
        ("from torch import nn", BASE, "Base", ""),
        ("from torch import nn", "import functools", "nn.Module", "@functools.lru_cache"),
    ],
)
def test_what_the_function_imported_is_known_to_its_classes(imports: str, before: str, base: str, marked: str) -> None:
    found = analyse(JOB.format(imports=imports, before=before, base=base, marked=marked))
    assert found.verdicts("FSDP303") == {"violated"} and found.verdicts("FSDP601") == {"upheld"}


def test_what_it_did_not_import_is_not() -> None:
    found = analyse(JOB.format(imports="from elsewhere import nn", before="", base="nn.Module", marked=""))
    assert "violated" not in found.verdicts("FSDP303") and "upheld" not in found.verdicts("FSDP601")
