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


STARTS = """
import argparse
import subprocess
import sys
parser = argparse.ArgumentParser()
parser.add_argument("--worker", action="store_true")
parser.add_argument("--more")
args = parser.parse_args()
def start():
    for ranks in (2, 8):
        command = [{command}]
        if subprocess.run(command, capture_output=True).returncode != 0:
            return 1
    return 0

if not args.worker:
    sys.exit(start())
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""
RANKS = 'f"--nproc-per-node={ranks}"'
ALONE = [
    f'sys.executable, "-m", "torch.distributed.run", {RANKS}, __file__, "--worker"',
    f'"torchrun", "--standalone", {RANKS}, __file__, "--worker", args.more',
    f'"torchrun", "--nnodes=1", {RANKS}, os.path.abspath(__file__), "--worker"',
]
PERHAPS_MORE = [
    f'"torchrun", "--nnodes=2", {RANKS}, __file__, "--worker"',
    f'"torchrun", "--rdzv-endpoint", "host:1", {RANKS}, __file__, "--worker"',
    f'"torchrun", args.more, {RANKS}, __file__, "--worker"',
    f'"torchrun", {RANKS}, "other.py", "--worker"',
    'sys.executable, __file__, "--worker"',
]


@pytest.mark.parametrize("command", ALONE)
def test_a_script_that_starts_itself_has_one_machine(command: str) -> None:
    assert "FSDP102" not in analyse(script(STARTS.replace("{command}", command))).codes


@pytest.mark.parametrize("command", PERHAPS_MORE)
def test_other_machines_may_take_part(command: str) -> None:
    assert "FSDP102" in analyse(script(STARTS.replace("{command}", command))).codes
