"""The embeddings that a model of a library is asked for: a part of it, in none of its blocks."""

from __future__ import annotations

import pytest

from tests.static.program import analyse

HEAD = """\
import types
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from transformers import AutoModelForCausalLM

dist.init_process_group("gloo")
model = AutoModelForCausalLM.from_pretrained("a/model")
loader = torch.utils.data.DataLoader(torch.load("tokens.pt"))
"""
SHARDED = """
for layer in model.model.layers:
    fully_shard(layer)
{between}
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for tokens in loader:
    model(tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    {after}
"""
METHOD = """
def embed(module, tokens):
    return module.get_input_embeddings()(tokens)

model.embed = types.MethodType(embed, model)
"""
AROUND = """
class Seen(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, tokens):
        seen = self.inner.get_input_embeddings()(tokens){mark}
        return self.inner(inputs_embeds=seen)

whole = Seen(model)
for layer in model.model.layers:
    fully_shard(layer)
{inner}
fully_shard(whole)
for tokens in loader:
    whole(tokens).loss.backward()
"""


def program(after: str, between: str = "") -> str:
    return HEAD + SHARDED.format(after=after, between=between)


FAULTS = {
    "asked for after the step": program("print(model.get_input_embeddings()(tokens))  # fault FSDP404"),
    "the head": program("print(model.get_output_embeddings()(torch.ones(1)))  # fault FSDP404"),
    "a method that was hung onto it": program("print(model.embed(tokens))  # fault FSDP402", METHOD),
    "in a forward that is around its root": HEAD + AROUND.format(inner="fully_shard(model)", mark="  # fault FSDP404"),
}
RIGHT = {
    "registered": program("print(model.embed(tokens))", METHOD + "register_fsdp_forward_method(model, 'embed')"),
    "sharded alone": program(
        "print(model.get_input_embeddings()(tokens))", "fully_shard(model.get_input_embeddings())"
    ),
    "perhaps sharded alone": program(
        "print(model.get_input_embeddings()(tokens))", "fully_shard(model.model.embed_tokens)"
    ),
    "gathered": program("model.unshard()\n    print(model.get_input_embeddings()(tokens))"),
    "in the forward of its root": HEAD + AROUND.format(inner="pass", mark=""),
    "of another library": program("print(model.get_input_embeddings()(tokens))").replace("transformers", "mine"),
}


def found(text: str) -> list[tuple[str, int]]:
    return [(code, row) for code, _, row in analyse(text).found if code in ("FSDP402", "FSDP404", "FSDP305")]


@pytest.mark.parametrize("case", FAULTS)
def test_found(case: str) -> None:
    row, line = next((row, line) for row, line in enumerate(FAULTS[case].splitlines(), 1) if "# fault" in line)
    assert found(FAULTS[case]) == [(line.rpartition(" ")[2], row)]


@pytest.mark.parametrize("case", RIGHT)
def test_not_found(case: str) -> None:
    assert found(RIGHT[case]) == []
