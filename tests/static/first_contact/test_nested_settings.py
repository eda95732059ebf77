"""Settings that a function fills record by record: whether a field is a record is known, so the recursion ends."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

SETTINGS = """
import json
from dataclasses import dataclass, field, fields, is_dataclass


@dataclass
class Sizes:
    dim: int = 64
    layers: int = 4


@dataclass
class Settings:
    sizes: Sizes = field(default_factory=Sizes)
    shard: bool = True
    every: int = 10


def fill(default, raw):
    values = {}
    for each in fields(default):
        current = getattr(default, each.name)
        if each.name not in raw:
            values[each.name] = current
        elif is_dataclass(current):
            values[each.name] = fill(current, raw[each.name])
        else:
            values[each.name] = raw[each.name]
    return type(default)(**values)


class Model(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(sizes.dim, sizes.dim) for _ in range(sizes.layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
MAIN = """
dist.init_process_group("gloo")
settings = fill(Settings(), json.loads(open("settings.json").read()))
model = Model(settings.sizes)
{early}
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    model(torch.ones(64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_model_of_such_settings_is_followed() -> None:
    analysis = analyse(script(MAIN.format(early="pass"), SETTINGS))
    assert analysis.codes == []
    assert {code: analysis.verdicts(code) for code in ("FSDP301", "FSDP302", "FSDP601")} == {
        "FSDP301": {"upheld"}, "FSDP302": {"upheld"}, "FSDP601": {"upheld"},
    }  # fmt: skip


def test_and_its_faults_are_found() -> None:
    late = "optimizer = torch.optim.AdamW(model.parameters())\n"
    early = MAIN.replace(late, "").format(early=late)
    assert analyse(script(early, SETTINGS)).codes == ["FSDP601"]


RECORDS = {"Sizes()": True, "Sizes": True, "Settings().sizes": True}
OTHERS = {"3": False, "'sizes'": False, "[Sizes()]": False, "Net": False}
ASKED = """
dist.init_process_group("gloo")
model = Net()
if not is_dataclass({value}):
    fully_shard(model)
model.forward(torch.ones(2, dtype=torch.long))
"""


@pytest.mark.parametrize(("value", "is_record"), [*RECORDS.items(), *OTHERS.items()])
def test_what_is_a_record(value: str, is_record: bool) -> None:
    assert ("FSDP401" in analyse(script(ASKED.format(value=value), SETTINGS)).codes) is not is_record
