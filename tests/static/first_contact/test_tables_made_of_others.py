"""Scripts come to code through tables that are put together: of classes by their own names, of keywords, of pairs."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, NET, analyse

PLANS = f"""{HEAD}

{NET}


class Plain:
    name = "plain"

    def apply(self, model):
        return model


class Sharded(Plain):
    name = "sharded"

    def apply(self, model):
        for layer in model.layers:
            fully_shard(layer)
        return model
"""
TABLES = [
    "{each.name: each for each in (Plain, Sharded)}",
    "dict((each.name, each) for each in [Plain, Sharded])",
    "dict(plain=Plain, sharded=Sharded)",
    "MappingProxyType({'plain': Plain, 'sharded': Sharded})",
    "OrderedDict([('plain', Plain), ('sharded', Sharded)])",
]
KINDS = """from collections import OrderedDict
from types import MappingProxyType
from plans import Plain, Sharded

KINDS = {table}


def make(name):
    return KINDS[name]()
"""
MAIN = """import os
import torch
import torch.distributed as dist
from kinds import make
from plans import Net

if __name__ == "__main__":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = make(os.environ["PLAN"]).apply(Net())
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
"""


@pytest.mark.parametrize("table", TABLES)
def test_the_script_is_followed_to_what_the_table_holds(table: str) -> None:
    found = analyse({"train.py": MAIN, "kinds.py": KINDS.replace("{table}", table), "plans.py": PLANS})
    assert "FSDP303" in found.codes and found.verdicts("FSDP101") == {"upheld"}


def test_a_table_that_holds_other_classes_leads_nowhere() -> None:
    kinds = KINDS.replace("{table}", "{each.name: each for each in (Plain,)}")
    assert "FSDP303" not in analyse({"train.py": MAIN, "kinds.py": kinds, "plans.py": PLANS}).codes
