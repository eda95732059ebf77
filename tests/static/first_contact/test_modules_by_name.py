"""Modules that are imported by a name which a setting completes, or that stands in a table of the same file."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

SIZES = {
    "plans/base.py": "class Plan:\n    late = True\n",
    "plans/small.py": "from plans.base import Plan\n\ndef plan():\n    return Plan()\n",
    "plans/large.py": "from plans.base import Plan\n\ndef plan():\n    p = Plan()\n    p.size = 8\n    return p\n",
}
CHOSEN = """
import importlib
model = Net()
plan = {}
if plan.late:
    optimizer = torch.optim.AdamW(model.parameters())
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
if not plan.late:
    optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(1, 4).long()).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize("packaged", [True, False])
@pytest.mark.parametrize(("imported", "verdict"), [
    ('importlib.import_module(f"plans.{sys.argv[1]}").plan()', "violated"),
    ('getattr(importlib.import_module("plans." + sys.argv[1]), "plan")()', "violated"),
    ('importlib.import_module("plans.small").plan()', "violated"),
    ("importlib.import_module(sys.argv[1]).plan()", "unknown"),
])  # fmt: skip
def test_a_setting_completes_the_name(imported: str, verdict: str, packaged: bool) -> None:
    files = {**SIZES, "train.py": main(CHOSEN.format(imported))} | ({"plans/__init__.py": ""} if packaged else {})
    assert analyse(files).verdicts("FSDP601") == {verdict}
    if verdict == "violated":
        files["plans/base.py"] = files["plans/base.py"].replace("True", "False")
        assert analyse(files).verdicts("FSDP601") == {"upheld"}


LISTED = {
    "plans/__init__.py": """
import importlib

TABLE = {}
PLACES = ("plans.blocks", "plans.whole")

def listed(name):
    def put(function):
        TABLE[name] = function
        return function
    return put

def plan_of(name):
    for place in PLACES:
        importlib.import_module(place)
    return TABLE[name]
""",
    "plans/blocks.py": """
from torch.distributed.fsdp import fully_shard
from plans import listed

@listed("blocks")
def shard_blocks(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
""",
    "plans/whole.py": """
from plans import listed

@listed("whole")
def leave(model):
    pass
""",
}
BY_TABLE = """
from plans import plan_of
model = Net()
{0}
plan_of(sys.argv[1])(model)
{1}
"""


@pytest.mark.parametrize(("early", "verdict"), [(True, "violated"), (False, "upheld")])
def test_a_table_has_the_names(early: bool, verdict: str) -> None:
    """The script says no word of sharding: what it imports by these names does."""
    optimizer = "optimizer = torch.optim.AdamW(model.parameters())"
    text = main(BY_TABLE.format(*((optimizer, "") if early else ("", optimizer))))
    text = text.replace("from torch.distributed.fsdp import fully_shard\n", "")
    assert "fully_shard" not in text
    assert verdict in analyse({**LISTED, "train.py": text}).verdicts("FSDP601")
