"""What each rank has for itself under one key of a checkpoint: who seeds what is followed, or nothing is said."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

HELPERS = """
import random
import numpy as np
import torch.distributed.checkpoint as dcp
from unseen import seeded

class Position:
    def state_dict(self):
        return {"rng": torch.get_rng_state()}

    def load_state_dict(self, state):
        torch.set_rng_state(state["rng"])

def state_of(model):
    return {"model": model.state_dict(), "rng": {"torch": torch.get_rng_state()}}
"""
OWN_SEED = "torch.manual_seed(7 + dist.get_rank())\nrandom.seed(7 + dist.get_rank())\n"
OWN = [
    "dcp.save({'model': model.state_dict(), 'rng': torch.get_rng_state()}, checkpoint_id='c')",
    "dcp.save(state_of(model), checkpoint_id='c')",
    "dcp.async_save({'states': [random.getstate(), 1]}, checkpoint_id='c').result()",
    "dcp.save({'app': Position()}, checkpoint_id='c')",
    "state = state_of(model)\nstate['python'] = random.getstate()\ndcp.save(state, checkpoint_id='c')",
    "dcp.save({'seed': 7 + 100 * dist.get_rank()}, checkpoint_id='c')",
    "g = torch.Generator().manual_seed(dist.get_rank())\ndcp.save({'g': g.get_state()}, checkpoint_id='c')",
]
NOT = [
    "dcp.save({f'rng_{dist.get_rank()}': torch.get_rng_state()}, checkpoint_id='c')",
    "dcp.save({f'app_{dist.get_rank()}': Position()}, checkpoint_id='c')",
    "dcp.save({'rng': torch.get_rng_state()}, checkpoint_id=f'c{dist.get_rank()}', no_dist=True)",
    "dcp.save({'rng': torch.get_rng_state()}, checkpoint_id='c', planner=seeded(1))",
    "parts = [None] * 2\ndist.all_gather_object(parts, random.getstate())\ndcp.save({'r': parts}, checkpoint_id='c')",
    "torch.manual_seed(3)\ndcp.save({'rng': torch.get_rng_state()}, checkpoint_id='c')",
    "torch.save(torch.get_rng_state(), f'rng{dist.get_rank()}.pt')",
    "dcp.save({'seed': 7 + dist.get_world_size()}, checkpoint_id='c')",
]


@pytest.mark.parametrize("save", OWN)
def test_one_rank_s_is_kept(save: str) -> None:
    assert analyse(main(f"{SHARDED}{OWN_SEED}{save}\n", HELPERS)).codes.count("FSDP712") == 1


@pytest.mark.parametrize("save", NOT)
def test_not_what_has_a_key_of_its_own_or_is_the_same(save: str) -> None:
    assert "FSDP712" not in analyse(main(f"{SHARDED}{OWN_SEED}{save}\n", HELPERS)).codes


@pytest.mark.parametrize("save", OWN[:4])
@pytest.mark.parametrize("seed", ["torch.manual_seed(7)\nrandom.seed(7)\n", "seeded(7)\nrandom.seed(7)\n"])
def test_not_where_all_ranks_may_have_one_seed(seed: str, save: str) -> None:
    found = analyse(main(f"{SHARDED}{seed}{save}\n", HELPERS))
    assert "FSDP712" not in found.codes and "upheld" not in found.verdicts("FSDP712")


def test_python_begins_differently_in_each_process() -> None:
    save = "dcp.save({'python': random.getstate()}, checkpoint_id='c')\n"
    assert "FSDP712" in analyse(main(SHARDED + save, HELPERS)).codes
    assert "FSDP712" not in analyse(main(SHARDED + "seeded(7)\n" + save, HELPERS)).codes
    assert (
        "FSDP712" not in analyse(main(SHARDED + save.replace("random.getstate", "torch.get_rng_state"), HELPERS)).codes
    )


@pytest.mark.parametrize(("before", "expected"), [("OWN", 1), ("SAME", 0)])
def test_a_resumed_job_brings_back_what_it_has_saved(before: str, expected: int) -> None:
    seed = OWN_SEED if before == "OWN" else "torch.manual_seed(7)\n"
    resumed = "if os.path.exists('c'):\n    torch.set_rng_state(torch.load('c/rng.pt'))\n"
    assert analyse(main(f"{SHARDED}{seed}{resumed}{OWN[0]}\n", HELPERS)).codes.count("FSDP712") == expected
