"""What a registry builds is followed, wherever it stands and however it is filled: each fault behind it is found."""

from __future__ import annotations

import pytest

from .program import HEAD, NET, analyse, script

TRAIN = (
    HEAD
    + """\
import yaml
import blocks
from registry import build

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    with open("run.yaml") as file:
        cfg = yaml.safe_load(file)
    model = build("model", cfg["model"])
    {before}
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    {after}
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()


if __name__ == "__main__":
    main()
"""
)
BLOCKS = f"""\
import torch
import torch.nn as nn
from registry import register

{NET}

@register("model", "net")
def net(**sizes):
    return Net(**sizes)

@register("model", "tied")
def tied():
    model = Net()
    model.head.weight = model.embed.weight
    return model

class Lora(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.zeros(rank, base.in_features))

    def forward(self, x):
        return self.base(x) + x @ self.a.T

@register("tuner", "lora")
def lora(model, rank=8):
    model.requires_grad_(False)
    for layer in model.layers:
        layer.up = Lora(layer.up, rank)
    return model

@register("tuner", "frozen_embedding")
def frozen_embedding(model):
    model.requires_grad_(True)
    model.embed.requires_grad_(False)
    return model
"""
REGISTER = """
def register(shelf, name=None):
    def add(made):
        key = name or made.__name__.lower()
        if key in {held}:
            raise KeyError(f"{{key}} is registered twice on {{shelf}}")
        {held}[key] = made
        return made

    return add


def build(shelf, spec, *args, **more):
    {spec}
    try:
        maker = {held}[name]
    except KeyError:
        raise SystemExit(f"no {{shelf}} is called {{name}}, there are {{sorted({held})}}") from None
    return maker(*args, **{rest}, **more)
"""
COPIED = "spec = dict(spec); name = spec.pop('name')"
READ = "name = spec['name']"
REGISTRIES = {
    "two levels": "from collections import defaultdict\nSHELVES = defaultdict(dict)\n"
    + REGISTER.format(held="SHELVES[shelf]", spec=COPIED, rest="spec"),
    "two levels by a lambda": "import collections\nSHELVES = collections.defaultdict(lambda: {})\n"
    + REGISTER.format(held="SHELVES[shelf]", spec=COPIED, rest="spec"),
    "levels that are listed": "SHELVES = {'model': {}, 'tuner': {}}\n"
    + REGISTER.format(held="SHELVES[shelf]", spec=COPIED, rest="spec"),
    "without arguments": "SHELVES = {'model': {}, 'tuner': {}}\n"
    + REGISTER.format(held="SHELVES[shelf]", spec=READ, rest="{}"),
}


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES)
@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("fully_shard(model)", "", "FSDP302"),
        ("", "model = build('tuner', cfg['tuner'], model)", "FSDP304"),
        ("fully_shard(model.embed)", "", "FSDP307"),
    ],
)
def test_what_is_built_by_name(registry: str, before: str, after: str, code: str) -> None:
    files = {"registry.py": registry, "blocks.py": BLOCKS, "train.py": TRAIN.format(before=before, after=after)}
    assert code in analyse(files).codes


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES)
@pytest.mark.parametrize("before", ["pass", "model = build('tuner', cfg['tuner'], model)"])
def test_what_is_built_by_name_and_right(registry: str, before: str) -> None:
    files = {"registry.py": registry, "blocks.py": BLOCKS, "train.py": TRAIN.format(before=before, after="pass")}
    assert analyse(files).codes == []


def test_a_registered_function_is_called_by_its_name_as_well() -> None:
    """Its decorator runs once, however often its name is looked up: a second time would raise."""
    train = TRAIN.replace('build("model", cfg["model"])', "blocks.tied()")
    for registry in REGISTRIES.values():
        files = {"registry.py": registry, "blocks.py": BLOCKS}
        fault = {"train.py": train.format(before="fully_shard(model.embed)", after="pass")}
        assert analyse(files | fault).codes == ["FSDP307"]
        assert analyse(files | {"train.py": train.format(before="pass", after="pass")}).codes == []


GROUPS = """
groups = collections.defaultdict(list)
for name, parameter in model.named_parameters():
    groups[{key}].append(parameter)
optimizer = torch.optim.AdamW([{{"params": each}} for each in groups.values()])
"""


@pytest.mark.parametrize("key", ["name.endswith('bias')", "parameter.ndim", "'all'"])
def test_parameters_that_are_grouped_by_a_dict_that_fills_itself(key: str) -> None:
    shard = "for layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
    train = "model(torch.ones(2, 8, dtype=torch.long)).sum().backward()\noptimizer.step()\n"
    start = 'dist.init_process_group("nccl")\ntorch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\nmodel = Net()\n'
    groups = GROUPS.format(key=key)
    assert analyse(script(start + groups + shard + train, "import collections")).codes == ["FSDP601"]
    assert analyse(script(start + shard + groups + train, "import collections")).codes == []
