"""Lists that are sorted by constants keep their elements apart, in the order that the constants say."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HOOKS = """
class Bus:
    def __init__(self):
        self.known = []

    def on(self, order, handler):
        self.known.append((order, handler))
        {sort}

    def fire(self, model):
        for _, handler in {handlers}:
            handler(model)


def build(model):
    return torch.optim.AdamW(model.parameters())


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
"""
MAIN = """
dist.init_process_group("nccl")
bus = Bus()
bus.on({first}, build)
bus.on({second}, shard)
bus.fire(Net())
"""
LATER = "pass"


@pytest.mark.parametrize(
    ("sort", "handlers", "first", "second", "found"),
    [
        ("self.known.sort(key=lambda entry: entry[0])", "self.known", 20, 10, False),
        ("self.known.sort(key=lambda entry: entry[0])", "self.known", 10, 20, True),
        ("self.known.sort(key=lambda entry: entry[0], reverse=True)", "self.known", 10, 20, False),
        (LATER, "sorted(self.known, key=lambda entry: entry[0])", 20, 10, False),
        (LATER, "sorted(self.known, key=lambda entry: entry[0])", 10, 10, True),  # equal ones stay as they were
        (LATER, "sorted(self.known, key=lambda entry: -entry[0])", 10, 20, False),
        (LATER, "sorted(self.known)", "'b'", "'a'", False),
        (LATER, "sorted(self.known)", "('a', 2)", "('a', 1)", False),
    ],
)
def test_callbacks_run_in_the_order_of_their_numbers(
    sort: str, handlers: str, first: object, second: object, found: bool
) -> None:
    text = script(MAIN.format(first=first, second=second), HOOKS.format(sort=sort, handlers=handlers))
    assert ("FSDP601" in analyse(text).codes) is found
