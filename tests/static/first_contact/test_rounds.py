"""What one round of a loop switches off, the next one finds switched off."""

from __future__ import annotations

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

SWITCH = """
import contextlib

@contextlib.contextmanager
def unsynchronised(model):
    model.set_requires_gradient_sync(False)
    yield

class Accumulator:
    def __init__(self, model, rounds):
        self.model, self.rounds, self.number = model, rounds, 0

    @property
    def last(self):
        return (self.number + 1) % self.rounds == 0

    @contextlib.contextmanager
    def accumulate(self):
        with contextlib.ExitStack() as stack:
            if not self.last:
                stack.enter_context(unsynchronised(self.model))
            yield self.last
        self.number += 1
"""
LOOP = """
optimizer = torch.optim.AdamW(model.parameters())
accumulator = Accumulator(model, 4)
for number in range(400):
    with accumulator.accumulate() as last:
        model(torch.randint(0, 9, (2, 8))).sum().backward()
    if last:
        optimizer.step()
"""


def test_rounds_that_exclude_each_other_uphold_nothing() -> None:
    """The switch is never set back, so the step takes gradients that were not reduced: at best it is not known."""
    seen = analyse(main(SHARDED + LOOP, SWITCH)).result
    words = {clause.word for model in seen.models for clause in model.rules if clause.code == "FSDP604"}
    assert words and words <= {"unknown", "violated"}
