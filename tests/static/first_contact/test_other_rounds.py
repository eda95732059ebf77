"""A call behind a loop is no partner of one inside it, where all ranks meet in each round."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

SAVER = """
import torch.distributed.checkpoint as dcp

class Saver:
    def __init__(self):
        self.last = None

    def on_step_end(self, model, step):
        {first}
            self.save(model, step)

    def on_fit_end(self, model, step):
        if self.last != step:
            self.save(model, step)

    def save(self, model, step):
        dcp.save({"model": model.state_dict()}, checkpoint_id=f"step-{step}")
        self.last = step
"""
RUN = """
rank = dist.get_rank()
saver = Saver()
step = 0
{loop}
    model(torch.zeros(2, dtype=torch.long, device="cuda")).sum().backward()
    saver.on_step_end(model, step)
    step += 1
saver.on_fit_end(model, step)
"""
LOOPS = ["while step < 1000:", "for step in range(1000):"]


def codes(first: str, loop: str) -> list[str]:
    return analyse(main(SHARDED + RUN.replace("{loop}", loop), SAVER.replace("{first}", first))).codes


@pytest.mark.parametrize("loop", LOOPS)
def test_the_first_rank_saves_while_the_others_train_on(loop: str) -> None:
    assert "FSDP801" in codes("if dist.get_rank() == 0 and step % 100 == 0:", loop)
    assert "FSDP801" not in codes("if step % 100 == 0:", loop)


MEET = """
for step in range(1000):
    {work}
    if step == 10:
        if dist.get_rank() == 0:
            dist.barrier()
        {leave}
if dist.get_rank() != 0:
    dist.barrier()
"""
TRAIN = 'model(torch.zeros(2, dtype=torch.long, device="cuda")).sum().backward()'


def meet(work: str, leave: str) -> bool:
    return "FSDP801" in analyse(main(SHARDED + MEET.replace("{work}", work).replace("{leave}", leave))).codes


def test_a_loop_that_all_leave_there() -> None:
    assert not meet(TRAIN, "break"), "the others come to the barrier behind the loop"
    assert meet(TRAIN, "pass"), "the others train on"


def test_a_loop_in_which_nobody_meets() -> None:
    assert not meet("print(step)", "pass"), "the others run through it, and come to the barrier behind it"
