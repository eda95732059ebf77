"""Rules that say another thing of another torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.target import Version

POLICY = """
import torch
import torch.nn as nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

model = nn.Linear(8, 8)
fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
"""


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ((2, 14), "in torch 2.14 the ranks add up the gradients of Linear in bfloat16"),
        ((2, 15), "torch 2.15 reduces the gradients of Linear in the dtype of its parameters and not in bfloat16"),
    ],
)
def test_what_an_unset_reduce_dtype_means(target: Version, words: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(POLICY)
    found = lint([str(tmp_path)], Asked(select=["FSDP502"], target=target)).findings
    assert [each.message.startswith(words) for each in found] == [True]


TEST = """
import torch
import torch.nn as nn
from torch.distributed.fsdp import fully_shard

model = nn.Linear(8, 8)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8)).sum().backward()
for p in model.parameters():
    if {test}:
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("test", ["torch.isfinite(p.grad).all()", "torch.any(torch.isnan(p.grad))"])
@pytest.mark.parametrize(("target", "found"), [((2, 13), 1), ((2, 14), 0)])
def test_what_any_and_all_of_a_dtensor_answer(test: str, target: Version, found: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TEST.format(test=test))
    messages = [each.message for each in lint([str(tmp_path)], Asked(select=["FSDP603"], target=target)).findings]
    assert len(messages) == found
    assert all("in torch 2.13 any() and all() of a DTensor give" in each for each in messages)
