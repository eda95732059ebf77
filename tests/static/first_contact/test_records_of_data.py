"""Records that nobody passed yet: a dataclass of numbers and texts holds no model, and its methods change none."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, NET, analyse

PART = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Size:
    width: int

@dataclass(frozen=True)
class Spec:
    name: str
    size: Size
    {more}

class Encoder(nn.Module):
    def __init__(self, specs: {kind}):
        super().__init__()
        {body}
        self.layers = nn.ModuleList([Block() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def apply_fsdp(self):
        for layer in self.layers:
            fully_shard(layer{options})
        fully_shard(self)
"""
BODIES = [
    ("list[Spec]", "names = [spec.name.upper() for spec in specs]"),
    ("Spec", "name = specs.name.upper()"),
    ("dict[str, Spec]", "names = [spec.name.upper() for spec in specs.values()]"),
    ("Size", "width = specs.width.bit_length()"),
]


def _codes(kind: str, body: str, options: str, more: str = "") -> list[str]:
    return analyse(HEAD + NET + PART.format(kind=kind, body=body, options=options, more=more)).codes


@pytest.mark.parametrize(("kind", "body"), BODIES)
def test_what_is_read_off_a_record_changes_no_model(kind: str, body: str) -> None:
    assert "FSDP312" in _codes(kind, body, ", reshard_after_forward=False")
    assert "FSDP312" not in _codes(kind, body, "")


@pytest.mark.parametrize("more", ["build: nn.Module", "build: 'Unseen'", "build: object"])
def test_a_record_may_hold_what_does(more: str) -> None:
    body = "specs.build.attach(self)"
    assert "FSDP312" not in _codes("Spec", body, ", reshard_after_forward=False", more)
