"""Settings of a class of the project, whoever fills or copies them; what predicates and signatures say."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

SETTINGS = """
import copy, dataclasses, json
import cattrs, chz, msgspec
from omegaconf import OmegaConf
from transformers import HfArgumentParser

@dataclass
class Settings:
    kind: str = "fsdp"
    names: list = dataclasses.field(default_factory=list)

    @property
    def sharded(self):
        return self.kind in ("fsdp", "hsdp")

    def replicated(self):
        return self.kind == "ddp"
"""
FILLED = [
    'cattrs.structure(json.load(open("a")), Settings)',
    "chz.entrypoint(Settings)",
    'msgspec.json.decode(open("a").read(), type=Settings)',
    "HfArgumentParser(Settings).parse_args_into_dataclasses()[0]",
    'HfArgumentParser((Settings,)).parse_yaml_file("a")[0]',
    "OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Settings), OmegaConf.from_cli()))",
    'dataclasses.replace(Settings(), kind=os.environ["KIND"])',
    'copy.deepcopy(Settings(os.environ["KIND"]))',
]
SWITCH = """
settings = {way}
model = Net()
if settings.sharded:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
if {wrapped}:
    model = DistributedDataParallel(model)
"""


@pytest.mark.parametrize("way", FILLED)
def test_what_its_class_says_of_an_object_that_a_library_fills(way: str) -> None:
    assert analyse(main(SWITCH.format(way=way, wrapped="settings.replicated()"), SETTINGS)).codes == []
    assert analyse(main(SWITCH.format(way=way, wrapped='settings.kind == "ddp"'), SETTINGS)).codes == []


@pytest.mark.parametrize("way", FILLED)
def test_a_kind_that_shards_and_wraps(way: str) -> None:
    wrapped = 'settings.kind == "hsdp"'
    assert "FSDP310" in analyse(main(SWITCH.format(way=way, wrapped=wrapped), SETTINGS)).codes


COPIES = """
first = Settings({kind})
second = copy.deepcopy(first)
second.kind = "fsdp"
second.names.append("a")
model = Net()
if second.sharded:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
if {wrapped}:
    model = DistributedDataParallel(model)
"""


def test_a_copy_is_changed_and_the_first_is_not() -> None:
    assert "FSDP310" in analyse(main(COPIES.format(kind='"ddp"', wrapped="first.replicated()"), SETTINGS)).codes
    assert analyse(main(COPIES.format(kind='"fsdp"', wrapped="first.replicated()"), SETTINGS)).codes == []
    assert analyse(main(COPIES.format(kind='"fsdp"', wrapped="len(first.names) == 1"), SETTINGS)).codes == []


def test_a_deep_copy_of_what_holds_a_model_copies_the_model() -> None:
    holder = "\nclass Holder:\n    def __init__(self, model):\n        self.model = model\n\nimport copy\n"
    body = """
model = Net()
{sharded}
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
other = copy.deepcopy(holder).model
for layer in other.layers:
    fully_shard(layer)
fully_shard(other)
"""
    assert "FSDP305" not in analyse(main(body.format(sharded="holder = Holder(model)"), holder)).codes


VERSION = """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP1

def version_of(model):
    if isinstance(model, FSDP1):
        return 1
    if {asked}:
        return 2
    return 0

def wrapped(kind):
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(4)])
    if kind == "fsdp":
        model = FSDP1(model)
    elif kind == "fsdp2":
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    elif kind == "ddp":
        model = DistributedDataParallel(model)
    else:
        raise ValueError(kind)
    return model
"""
SAVED = """
model = wrapped(os.environ["KIND"])
version = version_of(model)
if version == 1:
    state = {}
elif version == 2:
    state = {name: tensor.full_tensor() for name, tensor in model.state_dict().items()}
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "a.pt")
"""


def test_a_predicate_of_three_ends_asked_behind_a_chain_that_refuses_the_rest() -> None:
    assert analyse(main(SAVED, VERSION.format(asked="isinstance(model, FSDPModule)"))).codes == []
    chosen = SAVED.replace("version == 2", 'version not in (0, 1) and hasattr(model, "unshard")')
    assert analyse(main(chosen, VERSION.format(asked="isinstance(model, FSDPModule)"))).codes == []


def test_a_predicate_that_does_not_tell() -> None:
    assert "FSDP701" in analyse(main(SAVED, VERSION.format(asked="isinstance(model, DistributedDataParallel)"))).codes


TAKEN = """
import inspect

def supported(function, given):
    known = inspect.signature(function).parameters
    return {{name: value for name, value in given.items() if {asked}}}

def shard(module, mesh=None, **rest):
    fully_shard(module, **rest)
"""
GIVEN = """
model = Net()
kwargs = supported({function}, {{"auto_wrap_policy": None, "reshard_after_forward": True}})
for layer in model.layers:
    fully_shard(layer, **kwargs)
fully_shard(model, **kwargs)
"""


def test_keywords_that_a_function_does_not_take_are_left_out() -> None:
    assert analyse(main(GIVEN.format(function="fully_shard"), TAKEN.format(asked="name in known"))).codes == []
    assert analyse(main(GIVEN.format(function="shard"), TAKEN.format(asked="name in known"))).codes == []


def test_keywords_that_are_not_left_out() -> None:
    assert analyse(main(GIVEN.format(function="fully_shard"), TAKEN.format(asked="known"))).codes == ["FSDP902"]
    left = TAKEN.format(asked="name not in known")
    assert "FSDP902" in analyse(main(GIVEN.format(function="fully_shard"), left)).codes


OF_FIELDS = """
import argparse
from dataclasses import InitVar, fields
from elsewhere import Base

@dataclass
class Settings{bases}:
    steps: int = 100
    {seed}

def settings():
    parser = argparse.ArgumentParser()
    for field in fields(Settings):
        parser.add_argument("--" + field.name.replace("_", "-"), type=type(field.default), default=field.default)
    return Settings(**vars(parser.parse_args()))
"""
DRAWN = """
torch.manual_seed(settings().seed)
with torch.device("meta"):
    model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cpu")
nn.init.normal_(model.head.weight)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(
    ("bases", "seed", "verdict"),
    [
        pytest.param("", "seed: int = 42", "violated", id="a default that all ranks have"),
        pytest.param("", "seed: int = -1", "violated", id="a default that is computed"),
        pytest.param("", "seed: int = dataclass", "unknown", id="no number"),
        pytest.param("", "seed: InitVar[int] = 42", "unknown", id="no field"),
        pytest.param("(Base)", "seed: int = 42", "unknown", id="fields that were not seen"),
    ],
)
def test_options_that_fields_of_a_class_make(bases: str, seed: str, verdict: str) -> None:
    analysis = analyse(main(DRAWN, OF_FIELDS.format(bases=bases, seed=seed)))
    assert analysis.verdicts("FSDP208") == {verdict}
