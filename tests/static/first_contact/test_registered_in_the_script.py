"""A script that has its classes register themselves in a table of its own, and builds what a name says."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

TABLE = """
MODELS = {table}

{register}

@{marked}
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(8)])
        self.last = nn.Linear(64, 64)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.last(x)
"""
BY_NAME = "def register(name):\n    def put(cls):\n        MODELS[name] = cls\n        return cls\n    return put\n"
ITSELF = "def register(cls):\n    MODELS[cls.__name__.lower()] = cls\n    return cls\n"
OBJECT = """
class Registry:
    def __init__(self):
        self.held = {}
    def register(self, cls):
        self.held['deep'] = cls
        return cls
    def __getitem__(self, name):
        return self.held[name]
"""
TRAINED = """
model = MODELS["deep"]()
for layer in model.layers:
    fully_shard(layer)
model(torch.ones(2, 64)).sum().backward()
"""


@pytest.mark.parametrize(
    ("table", "register", "marked"),
    [("{}", BY_NAME, 'register("deep")'), ("{}", ITSELF, "register"), ("Registry()", "", "MODELS.register")],
)
def test_what_is_registered_is_built(table: str, register: str, marked: str) -> None:
    text = TABLE.replace("{table}", table).replace("{register}", register).replace("{marked}", marked)
    assert "FSDP303" in analyse(main(TRAINED, OBJECT + text)).codes


def test_nothing_is_registered() -> None:
    text = TABLE.replace("{table}", "{}").replace("{register}", BY_NAME).replace("@{marked}\n", "")
    assert "FSDP303" not in analyse(main(TRAINED, text)).codes
