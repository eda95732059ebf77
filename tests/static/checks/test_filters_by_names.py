"""FSDP301 where the names of modules say what is sharded: a filter that lets nothing pass leaves the root alone."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

BEFORE = """
import fnmatch
import re

PATTERN = re.compile(r"^layers\\.[0-9]+$")
PATTERNS = [r"layers\\.\\d+$", "embed"]
NONE = re.compile(r"blocks\\.\\d+")
"""
MAIN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = Net()
is_unit, is_none = PATTERN.match, NONE.fullmatch
for name, module in reversed(list(model.named_modules())):
    if FILTER:
        fully_shard(module)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
PASSED = [
    'name.startswith("layers.") and name.count(".") == 1',
    'len(name.split(".")) == 2 and name.split(".")[-1].isdigit()',
    'name in ("embed", "head")',
    r're.match(r"layers\.\d+$", name)',
    r're.fullmatch(r"(?P<where>layers)\.\d+", name) is not None',
    "PATTERN.search(name)",
    "re.search(PATTERN, name)",
    "is_unit(name)",
    "any(re.match(each, name) for each in PATTERNS)",
    'fnmatch.fnmatch(name, "layers.?")',
]
NOTHING = [
    'name.startswith("blocks.")',
    'name in ("emb", "hed")',
    r're.fullmatch(r"blocks\.\d+", name)',
    "NONE.match(name)",
    "is_none(name)",
    'fnmatch.fnmatch(name, "blocks.*")',
]
OPEN = [
    'name == os.environ["UNIT"]',
    're.fullmatch(os.environ["UNIT"], name)',
    r're.fullmatch(r"layers\.\d+", name, re.IGNORECASE)',
    r're.fullmatch(r"((l|a)+yers)+\.\d+", name)',  # may try for hours
    "theirs.passes(name)",
]


def said(asked: str) -> set[str]:
    return analyse(script(MAIN.replace("FILTER", asked), "import theirs\n" + BEFORE)).verdicts("FSDP301")


@pytest.mark.parametrize("asked", PASSED)
def test_what_lets_blocks_pass(asked: str) -> None:
    assert said(asked) == {"upheld"}


@pytest.mark.parametrize("asked", NOTHING)
def test_what_lets_nothing_pass(asked: str) -> None:
    assert said(asked) == {"violated"}


@pytest.mark.parametrize("asked", OPEN)
def test_what_is_not_known(asked: str) -> None:
    assert said(asked) == {"unknown"}
