"""Processes that meet at localhost are all on one machine, where the global rank is the local one."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

RUN = """
{before}
dist.init_process_group("nccl"{arguments})
torch.cuda.set_device(dist.get_rank())
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""
HERE = [
    ('port = os.environ["PORT"]', ', init_method=f"tcp://localhost:{port}"'),
    ("", ', init_method="tcp://127.0.0.1:29500"'),
    ('os.environ["MASTER_ADDR"] = "localhost"', ""),
    ('os.environ["MASTER_ADDR"] = "127.0.0.1"', ', init_method="env://"'),
    ('os.environ.update({"MASTER_ADDR": "localhost"})', ""),
]
ANYWHERE = [
    ("", ""),
    ('os.environ.setdefault("MASTER_ADDR", "localhost")', ""),
    ('host = os.environ["HOST"]', ', init_method=f"tcp://{host}:29500"'),
    ("", ', init_method="tcp://localhost.example.org:29500"'),
    ('if "HOST" not in os.environ:\n        os.environ["MASTER_ADDR"] = "localhost"', ""),
    ('os.environ["MASTER_ADDR"] = "localhost"', ', init_method="tcp://10.0.0.1:29500"'),
]


def found(before: str, arguments: str) -> bool:
    return "FSDP102" in analyse(script(RUN.replace("{before}", before).replace("{arguments}", arguments))).codes


@pytest.mark.parametrize(("before", "arguments"), HERE)
def test_the_rank_is_the_local_one(before: str, arguments: str) -> None:
    assert not found(before, arguments)


@pytest.mark.parametrize(("before", "arguments"), ANYWHERE)
def test_there_may_be_more_machines(before: str, arguments: str) -> None:
    assert found(before, arguments)
