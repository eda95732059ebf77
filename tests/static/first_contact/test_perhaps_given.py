"""A keyword that is handed over on some paths only: on the others the parameter has its default."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

BEFORE = """
from dataclasses import dataclass, field


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 64)

    def forward(self, x):
        return self.up(x)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Part() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))

    def forward(self, x):
        return self.net(x)


@dataclass
class Plan:
    kinds: tuple = {default}
    names: list = field(default_factory=list)


def shard(model, reshard=True, kinds={default}):
    for module in reversed([each for each in model.modules() if each is not model and isinstance(each, kinds)]):
        fully_shard(module, reshard_after_forward=reshard)
    fully_shard(model)


def shard_by(model, plan):
    shard(model, kinds=plan.kinds)


def hand_on(model, **how):
    shard(model, **how)


def by_keywords(model, *, mesh=None, kinds={default}):
    shard(model, kinds=kinds)
"""
RUN = """
mixed = len(sys.argv) > 1
model = Mixed() if mixed else Plain()
kinds = (Part,) if mixed else None
{call}
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(4, 64, device="cuda")).mean().backward()
optimizer.step()
"""
CALLS = [
    "shard(model, **({'kinds': kinds} if kinds is not None else {}))",
    "shard(model, reshard=False, **({} if kinds is None else {'kinds': kinds}))",
    "how = dict(reshard=True)\nif mixed:\n    how['kinds'] = kinds\nshard(model, **how)",
    "how = {}\nif kinds is not None:\n    how.update(kinds=kinds)\nhand_on(model, **how)",
    "by_keywords(model, **({'kinds': kinds} if mixed else {}))",
    "shard_by(model, Plan(**({'kinds': kinds} if mixed else {})))",
]


@pytest.mark.parametrize("call", CALLS)
def test_the_default_holds_on_the_other_paths(call: str) -> None:
    program = RUN.format(call=call)
    assert "FSDP301" not in analyse(main(program, BEFORE.replace("{default}", "(nn.Linear,)"))).codes
    assert "FSDP301" in analyse(main(program, BEFORE.replace("{default}", "(nn.Conv2d,)"))).codes


@pytest.mark.parametrize("call", CALLS)
def test_what_is_given_on_its_path_is_not_forgotten(call: str) -> None:
    program = RUN.format(call=call).replace("(Part,)", "(nn.Conv2d,)")
    assert "FSDP301" in analyse(main(program, BEFORE.replace("{default}", "(nn.Linear,)"))).codes


def test_one_of_two_values_on_all_paths_leaves_no_default() -> None:
    call = "shard(model, **({'kinds': kinds} if mixed else {'kinds': (nn.Linear,)}))"
    program = RUN.format(call=call)
    assert "FSDP301" not in analyse(main(program, BEFORE.replace("{default}", "(nn.Conv2d,)"))).codes
