"""A model of a library inside one of the project's own: its embeddings and last norm are in no group of its blocks."""

from __future__ import annotations

import pytest

from tests.static.program import analyse

HEAD = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM


class Policy(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.backbone = AutoModelForCausalLM.from_pretrained(name)

    def forward(self, tokens):
        return self.backbone(input_ids=tokens).logits


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Policy("meta-llama/Llama-3.2-1B")
"""
BLOCKS = """
for layer in model.backbone.model.layers:
    fully_shard(layer)
"""
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.load("batches.pt"):
    model(batch.cuda()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_nothing_shards_what_is_around_them() -> None:
    (found,) = [each for each in analyse(HEAD + BLOCKS + TRAIN).result.findings if each.code == "FSDP303"]
    assert "the gradients of the embeddings and last norm of backbone are not reduced" in found.message


@pytest.mark.parametrize(
    "more",
    ["fully_shard(model)", "fully_shard(model.backbone)"],
    ids=["the root takes them", "the library's model takes them"],
)
def test_a_group_takes_them(more: str) -> None:
    assert "FSDP303" not in analyse(HEAD + BLOCKS + more + TRAIN).codes


@pytest.mark.parametrize(
    ("blocks", "train"),
    [
        (BLOCKS.replace("model.backbone.model.layers", "parts_of(model)"), TRAIN),
        (BLOCKS + "adapt(model)\n", TRAIN),
        (BLOCKS + "model.backbone.get_input_embeddings().requires_grad_(False)\n", TRAIN),
        (BLOCKS, TRAIN.replace("model.parameters()", "model.backbone.model.layers[0].parameters()")),
        (BLOCKS + "fully_shard(model.backbone.lm_head)\n", TRAIN),
    ],
    ids=["blocks of unknown origin", "in unknown hands", "some frozen", "only blocks trained", "more is sharded"],
)
def test_it_is_not_known(blocks: str, train: str) -> None:
    seen = analyse("from elsewhere import adapt, parts_of\n" + HEAD + blocks + train)
    assert "FSDP303" not in seen.codes
    assert "upheld" not in seen.verdicts("FSDP303")
