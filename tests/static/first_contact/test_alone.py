"""Jobs of one process: nobody is there who could stay away."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse, script

ALONE = (
    "dist.get_world_size() <= 1",
    "dist.get_world_size() == 1",
    "not dist.get_world_size() > 1",
    "int(os.environ['WORLD_SIZE']) < 2",
)
TOGETHER = ("dist.get_world_size() > 1", "dist.get_world_size() <= 2", "dist.get_world_size(group) == 1")
BEHIND = """
import os
group = dist.new_group([0, 1])
if {asked} and dist.get_rank() == 0:
    dist.barrier()
"""


@pytest.mark.parametrize("asked", ALONE)
def test_one_process_waits_for_nobody(asked: str) -> None:
    assert "FSDP801" not in analyse(main(SHARDED + BEHIND.format(asked=asked))).codes


@pytest.mark.parametrize("asked", TOGETHER)
def test_more_than_one_do(asked: str) -> None:
    assert "FSDP801" in analyse(main(SHARDED + BEHIND.format(asked=asked))).codes


def test_the_number_of_processes_is_one_number() -> None:
    """Who leaves where there is one process only leaves no rank of several."""
    body = "if dist.get_world_size() == 1 and dist.get_rank() != 0: raise SystemExit\n"
    assert "FSDP801" not in analyse(main(SHARDED + body + "if dist.get_world_size() > 1: dist.barrier()")).codes


MODES = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--cached", action="store_true")
args = parser.parse_args()
if args.cached:
    head = nn.Linear(8, 8).cuda()
{otherwise}
    dist.init_process_group("gloo")
    model = Net()
    fully_shard(model)
"""


def test_a_mode_that_shards_nothing_may_use_any_gpu() -> None:
    body = MODES.format(otherwise="else:")
    assert "FSDP101" not in analyse(script(body)).codes
    assert "FSDP101" in analyse(script(body.replace("else:", "if True:"))).codes


@pytest.mark.parametrize("asked", ["int(os.environ.get('WORLD_SIZE', '1')) != 1", "dist.get_world_size() > 1"])
def test_what_refuses_several_processes_reads_whole_values(asked: str) -> None:
    body = SHARDED + "import os\nif {}: raise RuntimeError('one process only')\n"
    body += "for p in model.parameters(): print(p.norm().item())\n"
    assert "FSDP603" not in analyse(main(body.format(asked))).codes
    assert "FSDP603" in analyse(main(body.format("False"))).codes


def test_what_is_saved_into_memory_is_no_file() -> None:
    body = SHARDED + "import io\nbuffer = io.BytesIO()\ntorch.save(model.state_dict(), {})\n"
    assert "FSDP701" not in analyse(main(body.format("buffer"))).codes
    assert "FSDP701" in analyse(main(body.format("'model.pt'"))).codes
