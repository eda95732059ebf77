"""Texts that are written out are taken apart as Python does: modules by dotted paths, a star for each child."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

PARTS = """
class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 8)})

    def forward(self, x):
        for block in self.trunk.blocks:
            x = block(x)
        return self.heads["a"](x)


def select(root, pattern):
    head, _, rest = pattern.SPLIT
    children = list(root.children()) if head == "*" else [root.get_submodule(head)]
    for child in children:
        if rest:
            yield from select(child, rest)
        else:
            yield child
"""
SHARDED = """
model = Tower()
PARENT
for pattern in ("trunk.blocks.*", "heads.*"):
    for unit in select(model, pattern):
        fully_shard(unit)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
"""
SPLITS = ['partition(".")', 'replace(".", "/").partition("/")']


def verdicts(split: str, parent: str, code: str) -> set[str]:
    return analyse(main(SHARDED.replace("PARENT", parent), PARTS.replace("SPLIT", split))).verdicts(code)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("parent", "expected"), [("", "upheld"), ("fully_shard(model.trunk)", "violated")])
def test_modules_by_path(split: str, parent: str, expected: str) -> None:
    assert verdicts(split, parent, "FSDP302") == {expected}


def test_a_path_that_is_not_written() -> None:
    assert verdicts('partition(open("mark.txt").read())', "", "FSDP302") == {"unknown"}
