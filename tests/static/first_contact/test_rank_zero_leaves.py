"""What the first rank alone does before it leaves: its own device, and the collective that the others make later."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse, script

BARRIERS = """
from maker import make

def mask(path):
    {distributed}
    if {first}:
        try:
            make(path)
        except ValueError:
            if distributed:
                dist.barrier()
            {leave}
    {last}
    return path
"""
MASKED = 'mask("out")\nmodel = Net()\nfully_shard(model)\n'
LAST = "if distributed:\n        dist.barrier()"


def mask(distributed: str, first: str, leave: str, last: str = LAST) -> set[str]:
    text = BARRIERS.replace("{distributed}", distributed).replace("{first}", first).replace("{leave}", leave)
    return set(analyse(main(MASKED, text.replace("{last}", last))).codes)


@pytest.mark.parametrize("distributed", ["distributed = dist.is_initialized()", "distributed = True"])
@pytest.mark.parametrize("first", ["dist.get_rank() == 0", "not distributed or dist.get_rank() == 0"])
def test_both_sides_meet_one_barrier(distributed: str, first: str) -> None:
    assert "FSDP801" not in mask(distributed, first, "return None")
    assert "FSDP801" in mask(distributed, first, "pass"), "the first rank comes to both of them"
    assert "FSDP801" in mask(distributed, first, "return None", "pass"), "the others come to none"


@pytest.mark.parametrize(
    "checks", ["made = make(path)\n            assert made", "if not make(path):\n                raise OSError"]
)
def test_what_the_first_rank_checks_is_no_condition_on_ranks(checks: str) -> None:
    first = "dist.get_rank() == 0"
    text = BARRIERS.replace("            make(path)", f"            {checks}")
    text = text.replace("{distributed}", "distributed = dist.is_initialized()").replace("{first}", first)
    both = text.replace("{leave}", "return None").replace("{last}", LAST)
    assert "FSDP801" not in analyse(main(MASKED, both)).codes
    assert "FSDP801" in analyse(main(MASKED, both.replace("return None", "pass"))).codes


ALL_FAIL = """
from maker import make

def mask(path):
    try:
        make(path)
    except ValueError:
        {first}
            dist.barrier()
        return None
    dist.barrier()
    return path
"""


def test_where_all_ranks_fail_the_others_come_to_none() -> None:
    assert "FSDP801" in analyse(main(MASKED, ALL_FAIL.replace("{first}", "if dist.get_rank() == 0:"))).codes
    assert "FSDP801" not in analyse(main(MASKED, ALL_FAIL.replace("{first}", "if True:"))).codes


TOUCHES = """
import time

def prepare(path):
    if os.path.exists(path):
        return torch.load(path, map_location="cpu")
    rank = int(os.environ.get("{rank}", 0))
    if {others}:
        while not os.path.exists(path):
            time.sleep(1)
        return torch.load(path, map_location="cpu")
    weight = torch.zeros(4).cuda()
    torch.save(weight, path)
    return weight
"""
PREPARED = """
prepare("masks")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""


@pytest.mark.parametrize("rank", ["RANK", "LOCAL_RANK"])
def test_the_first_device_belongs_to_the_first_rank(rank: str) -> None:
    text = TOUCHES.replace("{rank}", rank)
    assert "FSDP103" not in analyse(script(PREPARED, text.replace("{others}", "rank != 0"))).codes
    for others in ("rank != 1", "rank > 3", "len(path) > 9"):
        assert "FSDP103" in analyse(script(PREPARED, text.replace("{others}", others))).codes
