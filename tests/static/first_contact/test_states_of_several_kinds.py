"""A state that is one of several objects, each of which has a mode of its own: two modes exclude each other in each."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

STATES = """
class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8192, 8192) for _ in range(64)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

@dataclass(frozen=True)
class State:
    mode: str

def state_of(settings):
    if settings.get("NEW"):
        return State(settings["MODE"])
    if settings.get("OLD"):
        return State(settings["OLD_MODE"])
    return State(settings["LAST_MODE"])

def build(model, state):
    if state.mode == "fsdp2":
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    elif state.mode == "ddp":
        model = DistributedDataParallel(model)
    return model
"""
RUN = """
state = state_of(os.environ)
model = Large()
if state.mode {asked}:
    model = model.to("cuda")
model = build(model, state)
"""


@pytest.mark.parametrize(
    ("asked", "found"), [('== "ddp"', False), ('in ("ddp", "none")', False), ('== "fsdp2"', True), ('!= "ddp"', True)]
)
def test_a_mode_excludes_the_other_in_each_of_them(asked: str, found: bool) -> None:
    assert ("FSDP206" in analyse(main(RUN.replace("{asked}", asked), STATES)).codes) is found
