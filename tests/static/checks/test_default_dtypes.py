"""FSDP501 of models that are made while another dtype is the default, which is put back afterwards or not."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MANAGER = """
from contextlib import contextmanager
from dataclasses import dataclass

@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
"""
TRAIN = """
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for batch in range(8):
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("build", "word"),
    [
        ("with default_dtype(torch.bfloat16):\n    model = Net()", "violated"),
        ("with default_dtype(torch.bfloat16):\n    other = nn.Linear(2, 2)\nmodel = Net()", "upheld"),
        ("before = torch.get_default_dtype()\ntorch.set_default_dtype(torch.bfloat16)\nother = Net()\n"
         "torch.set_default_dtype(before)\nmodel = Net()", "upheld"),
        ("with default_dtype(torch.float32):\n    model = Net()", "upheld"),
        ("torch.set_default_dtype(mystery.dtype)\nmodel = Net()", "unknown"),
    ],
)  # fmt: skip
def test_the_default_counts_where_the_model_is_made(build: str, word: str) -> None:
    assert analyse(script(build + TRAIN, f"import mystery\n{MANAGER}")).verdicts("FSDP501") == {word}


TABLE = """
import argparse

@dataclass
class Precision:
    compute: torch.dtype
    master: torch.dtype = torch.float32

TABLE = {"bf16": Precision(torch.bfloat16), "fp32": Precision(torch.float32)}

def asked():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--dtype", default="bfloat16")
    return parser.parse_args()
"""


@pytest.mark.parametrize(
    ("dtype", "word"),
    [
        ("TABLE[asked().precision].compute", "violated"),
        ("TABLE[asked().precision].master", "upheld"),
        ("getattr(torch, asked().dtype)", "violated"),
    ],
)
def test_what_a_setting_has_by_default(dtype: str, word: str) -> None:
    build = f"with default_dtype({dtype}):\n    model = Net()"
    assert analyse(script(build + TRAIN, MANAGER + TABLE)).verdicts("FSDP501") == {word}
