"""FSDP801 of two calls under conditions that are too large to compare: no run may have both."""

from __future__ import annotations

from tests.static.program import Analysis, analyse, script

ONE = " or ".join(f"(o.a{number} and o.b{number})" for number in range(30))
OTHER = " or ".join(f"(o.b{number} and o.a{number})" for number in reversed(range(30)))
BODY = f"""
from settings import options as o
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

dist.init_process_group("gloo")
model = Net()
if SHARDED:
    fully_shard(model)
if not ({OTHER}):
    if dist.get_rank() == 0:
        start = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
"""


def asked(sharded: str) -> Analysis:
    return analyse(script(BODY.replace("SHARDED", sharded)))


def test_what_one_condition_shards_another_may_leave_whole() -> None:
    analysis = asked(ONE)
    assert "FSDP801" not in analysis.codes and "upheld" not in analysis.verdicts("FSDP801")


def test_what_is_sharded_in_each_run_is_sharded_there() -> None:
    assert "FSDP801" in asked("True").codes
