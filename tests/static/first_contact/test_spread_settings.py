"""``Net(**settings)``, where nobody read which settings there are: each argument is the setting of its name."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, Analysis, analyse

PROGRAM = """
import json
import sys
import yaml
from dataclasses import dataclass
from omegaconf import OmegaConf
from somewhere import made_elsewhere

class Net(nn.Module):
    def __init__(self, width, depth, bias=True):
        super().__init__()
        self.width = width
        self.layers = nn.ModuleList([nn.Linear(width, width, bias=bias) for _ in range(depth)])
        self.head = nn.Linear(width, 2)

    def reset(self):
        for layer in [*self.layers, self.head]:
            layer.reset_parameters()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

class Wide(Net):
    def __init__(self, factor=1, **more):
        super().__init__(**more)
        self.factor = factor

def read(names):
    files = [name for name in names if name.endswith(".yaml")]
    return OmegaConf.merge(*[OmegaConf.load(name) for name in files])

def build(**options):
    return Net(**options)

def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    with torch.device("meta"):
        model = {made}
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    model.to_empty(device=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    {fill}
    model(torch.randn(2, 8)).sum().backward()

if __name__ == "__main__":
    main()
"""
MADE = {
    "a section of a file": "Net(**read(sys.argv).model)",
    "a file": "Net(**json.load(open(sys.argv[1])))",
    "one more by hand": 'Net(bias=False, **yaml.safe_load(open("net.yaml"))["net"])',
    "handed on by a function": 'build(**yaml.safe_load(open("net.yaml")))',
    "handed on to the base class": "Wide(factor=2, **read(sys.argv).model)",
}


def said(made: str, fill: str) -> Analysis:
    return analyse(HEAD + PROGRAM.format(made=made, fill=fill))


@pytest.mark.parametrize("made", MADE.values(), ids=MADE.keys())
def test_what_is_built_of_settings_is_followed(made: str) -> None:
    assert said(made, "pass").codes == ["FSDP201"]
    right = said(made, "model.reset()")
    assert right.codes == []
    assert right.verdicts("FSDP201") == right.verdicts("FSDP304") == {"upheld"}


UNSEEN = {
    "of code that was not followed": "Net(**made_elsewhere())",
    "of two that were not read": "Net(**json.load(open('a.json')), **made_elsewhere())",
    "of one or the other": "Net(**(made_elsewhere() if len(sys.argv) > 2 else json.load(open('a.json'))))",
    "by their number too": "Net(*made_elsewhere(), **json.load(open('a.json')))",
}


@pytest.mark.parametrize("made", UNSEEN.values(), ids=UNSEEN.keys())
def test_what_unseen_code_may_have_made_stays_unknown(made: str) -> None:
    result = said(made, "model.reset()")
    assert result.codes == []
    assert result.verdicts("FSDP201") == result.verdicts("FSDP304") == {"unknown"}


def test_one_setting_is_one_number() -> None:
    """Where a function asks twice for the same, it gets the same: no branch of the second contradicts the first."""
    program = """
import sys
import yaml

def deep(model, depth):
    if depth > 4:
        for layer in model:
            fully_shard(layer)

def finish(model, depth):
    if depth <= 4:
        for layer in model:
            fully_shard(layer)
    fully_shard(model)

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
settings = yaml.safe_load(open(sys.argv[1]))
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
deep(model, **settings)
finish(model, **settings)
"""
    assert "FSDP305" not in analyse(HEAD + program).codes
    assert analyse(HEAD + program).verdicts("FSDP305") == {"upheld"}
