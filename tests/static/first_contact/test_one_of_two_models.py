"""A name that stands for one of two models, on paths that exclude each other: each is judged by its own."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, NET, analyse

HELPER = """
from transformers import AutoModelForCausalLM


class Wrapper(nn.Module):
    def __init__(self, given, config):
        super().__init__()
        if isinstance(given, str):
            self.model = AutoModelForCausalLM.from_pretrained(given)
        else:
            self.model = given

    def forward(self, x):
        return self.model(x)


def patch(model):
    model.config.get_text_config()


def shard(model, config):
    names = list(config.classes)
    found = [module for name, module in model.named_modules() if module.__class__.__name__ in names]
    for module in found:
        fully_shard(module)
    fully_shard(model)


class Worker:
    def __init__(self, given, config):
        self.wrapper = Wrapper(given, config)
        patch(self.wrapper.model)
        shard(self.wrapper.model, config)
        {again}
        self.optimizer = torch.optim.AdamW(self.wrapper.parameters())

    def step(self, batch):
        self.wrapper(batch).logits.sum().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
"""


def test_a_helper_that_is_called_twice() -> None:
    twice = analyse(HEAD + HELPER.format(again="shard(self.wrapper.model, config)"))
    assert "FSDP305" in twice.codes


def test_once_is_enough() -> None:
    assert "FSDP305" not in analyse(HEAD + HELPER.format(again="pass")).codes


ADAPTED = """
from peft import get_peft_model
from settings import config, lora


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = Net() if config.own else config.build()
    {first}
    model = get_peft_model(model, lora)
    {then}
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()


main()
"""


@pytest.mark.parametrize(("first", "then"), [("fully_shard(model)", "pass"), ("pass", "fully_shard(model)")])
def test_adapters_of_one_of_two(first: str, then: str) -> None:
    found = analyse(HEAD + NET + ADAPTED.format(first=first, then=then)).codes
    assert ("FSDP304" in found) is (then == "pass")


GETTERS = """
import operator
import sys


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = Net()
    {body}
    fully_shard(model)
    {late}
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()


main()
"""
EARLY = "for block in operator.attrgetter({0})(model):\n        fully_shard(block)"


@pytest.mark.parametrize("name", ['"layers"', "sys.argv[1]"])
def test_parts_by_attrgetter(name: str) -> None:
    late = analyse(HEAD + NET + GETTERS.format(body="pass", late=EARLY.format(name)))
    assert "FSDP302" in late.codes
    assert "FSDP302" not in analyse(HEAD + NET + GETTERS.format(body=EARLY.format(name), late="pass")).codes


def test_one_of_several_by_itemgetter() -> None:
    body = "first, last = operator.itemgetter(0, -1)([model.embed, model.head])\n    fully_shard(last)"
    twice = analyse(HEAD + NET + GETTERS.format(body=f"{body}\n    fully_shard(model.head)", late="pass"))
    other = analyse(HEAD + NET + GETTERS.format(body=f"{body}\n    fully_shard(model.embed)", late="pass"))
    assert "FSDP305" in twice.codes and "FSDP305" not in other.codes
