"""What a checkpoint holds beside tensors is not what the program had put in."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
"""
STATE = """
class State:
    def __init__(self, model):
        self.model, self.step = model, 0

    def state_dict(self):
        return {"model": get_model_state_dict(self.model), "step": self.step}

    def load_state_dict(self, state):
        set_model_state_dict(self.model, state["model"])
        RESTORE
"""
SHARD = "model = Net()\nfor layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
RESUMED = "if step > 0:\n    model.forward(torch.ones(2, 8))\n"


def test_in_a_dict() -> None:
    state = 'state = {"model": get_model_state_dict(model), "step": 0}\n'
    load = 'dcp.load(state, checkpoint_id="x")\nset_model_state_dict(model, state["model"])\n'
    read = 'step = state["step"]\n'
    assert "FSDP401" in analyse(script(SHARD + state + load + read + RESUMED, IMPORTS)).codes
    assert "FSDP401" not in analyse(script(SHARD + state + read + RESUMED, IMPORTS)).codes


@pytest.mark.parametrize(
    "restore",
    [
        'self.step = state["step"]',
        'vars(self).update({"step": state["step"]})',
        "vars(self).update(state)",
        'self.__dict__.update(step=state["step"])',
    ],
)
def test_in_the_state_of_an_object(restore: str) -> None:
    load = 'held = State(model)\ndcp.load({"train": held}, checkpoint_id="x")\nstep = held.step\n'
    assert "FSDP401" in analyse(script(SHARD + load + RESUMED, IMPORTS + STATE.replace("RESTORE", restore))).codes


def test_attributes_that_a_dict_names_leave_the_others_alone() -> None:
    """Before, each object that it holds was in unseen hands."""
    train = 'held = State(model)\nvars(held).update({"step": 1})\nmodel(torch.ones(2, 8))\n'
    seen = analyse(script(SHARD + train, IMPORTS + STATE.replace("RESTORE", "pass")))
    assert seen.verdicts("FSDP302") == {"upheld"}
    unseen = analyse(
        script(SHARD + train.replace('{"step": 1}', "mystery"), IMPORTS + STATE.replace("RESTORE", "pass"))
    )
    assert seen.verdicts("FSDP302") != unseen.verdicts("FSDP302")


def test_a_decision_by_it_is_the_same_on_all_ranks() -> None:
    state = 'state = {"step": 0}\ndcp.load(state, checkpoint_id="x")\n'
    seen = analyse(script(SHARD + state + 'if state["step"] > 5:\n    dist.barrier()\n', IMPORTS))
    assert seen.verdicts("FSDP801") == {"upheld"}


@pytest.mark.parametrize(("use", "word"), [("", "unknown"), ("set_model_state_dict(model, weights)\n", "upheld")])
def test_tensors_of_the_shapes_of_a_model_that_nobody_puts_into_it(use: str, word: str) -> None:
    fresh = "weights = {name: torch.empty_like(each) for name, each in get_model_state_dict(model).items()}\n"
    load = 'dcp.load({"model": weights}, checkpoint_id="x")\n'
    assert analyse(script(SHARD + fresh + load + use, IMPORTS)).verdicts("FSDP703") == {word}


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ('f"rng_{dist.get_rank()}"', "upheld"),
        ('"rng"', "violated"),
        ('f"rng_{mystery.name()}"', "unknown"),
    ],
)
def test_a_key_that_may_be_the_same_on_all_ranks(key: str, word: str) -> None:
    seeded = "torch.manual_seed(dist.get_rank())\n"
    state = f'dcp.save({{"model": get_model_state_dict(model), {key}: torch.get_rng_state()}}, checkpoint_id="x")\n'
    assert analyse(script(SHARD + seeded + state, "import mystery\n" + IMPORTS)).verdicts("FSDP712") == {word}
