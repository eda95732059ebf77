"""Settings that a file of their own makes, which says nothing of torch; values that branches with checks leave."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

PARSED = """
import argparse

def settings():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices={choices}, default="ddp")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--resume", default=None)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()
"""
FILLED = """
import json
from dataclasses import dataclass
from typing import Literal

@dataclass
class Settings:
    kind: Literal[{choices}] = "ddp"

    @classmethod
    def read(cls, path):
        with open(path) as file:
            raw = json.load(file)
        if not isinstance(raw, dict):
            raise TypeError(path)
        unknown = set(raw) - {{"kind"}}
        if unknown:
            raise KeyError(unknown)
        return cls(**raw)

def settings():
    made = Settings.read("settings.json")
    print("kind", made.kind)
    print("made", made)
    print("read")
    print("done")
    return made
"""
CHANGED = """
import json
import os
from dataclasses import dataclass, replace

@dataclass(frozen=True)
class Settings:
    kind: str = "ddp"

def settings():
    made = Settings(**json.load(open("settings.json")))
    if made.kind not in {choices}:
        raise ValueError(made.kind)
    if os.environ.get("DEBUG"):
        made = replace(made, kind="none")
    elif made.kind == "none":
        raise ValueError("for debugging")
    return made
"""
RUN = """
from settings import settings
kind = settings().kind
model = Net()
if kind == "none":
    model = model.cuda()
elif kind == "ddp":
    model = DistributedDataParallel(model.cuda())
else:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
if kind == "fsdp":
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


def saved(settings: str, choices: str) -> bool:
    files = {"train.py": main(RUN), "settings.py": settings.format(choices=choices)}
    return "FSDP701" in analyse(files).codes


@pytest.mark.parametrize(
    ("settings", "brackets"), [(PARSED, "[{}]"), (FILLED, "{}"), (CHANGED, "({})")], ids=["parsed", "filled", "changed"]
)
def test_the_file_decides(settings: str, brackets: str) -> None:
    assert not saved(settings, brackets.format('"none", "ddp", "fsdp"'))
    assert saved(settings, brackets.format('"none", "ddp", "fsdp", "hsdp"'))


@pytest.mark.parametrize("check", ["raise ValueError", "assert kind != 'x'", "pass"])
def test_a_value_changed_beside_a_check(check: str) -> None:
    body = """
kind = sys.argv[1]
if kind not in ("none", "fsdp"):
    raise ValueError
if os.environ.get("DEBUG"):
    kind = "none"
elif kind == "{which}":
    {check}
model = Net()
if kind != "none":
    fully_shard(model)
if kind != "{saves}":
    torch.save(model.state_dict(), f"model{{dist.get_rank()}}.pt")
"""
    assert "FSDP701" not in analyse(main(body.format(which="other", check=check, saves="fsdp"))).codes
    assert "FSDP701" not in analyse(main(body.format(which="none", check=check, saves="fsdp"))).codes
    assert "FSDP701" in analyse(main(body.format(which="none", check=check, saves="none"))).codes
