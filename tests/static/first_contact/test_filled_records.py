"""Settings that a library fills: objects of a class of the project, whose properties speak of their fields."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

RECORDS = """
import json
import tyro, dacite, draccus
from pydantic import BaseModel

class Parallel(BaseModel):
    kind: str = "fsdp"

    @property
    def sharded(self) -> bool:
        return self.kind in {kinds}

class Settings(BaseModel):
    parallel: Parallel = Parallel()
"""
RUN = """
settings = {made}
model = Net()
if settings.parallel.kind == "fsdp":
    fully_shard(model)
elif settings.parallel.kind == "hsdp":
    fully_shard(model, mesh=init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard")))
if settings.parallel.sharded:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
MADE = [
    'Settings.model_validate_json(os.environ["SETTINGS"])',
    'Settings.parse_file("settings.json")',
    "tyro.cli(Settings)",
    "draccus.parse(config_class=Settings)",
    'dacite.from_dict(Settings, yaml.safe_load(open("settings.yaml")))',
    'Settings(**json.load(open("settings.json")))',
]


def saved(made: str, kinds: str) -> bool:
    return "FSDP701" in analyse(main(RUN.format(made=made), RECORDS.format(kinds=kinds))).codes


@pytest.mark.parametrize("made", MADE)
def test_one_property_decides_both(made: str) -> None:
    assert not saved(made, '("fsdp", "hsdp")')


@pytest.mark.parametrize("made", MADE)
def test_a_property_that_forgets_one_kind(made: str) -> None:
    assert saved(made, '("fsdp",)')


def test_a_default_is_not_what_a_file_says() -> None:
    """The file may name any kind, so that the branch of the default is not the only one."""
    run = """
settings = tyro.cli(Settings)
model = Net()
if settings.parallel.kind == "hsdp":
    fully_shard(model)
torch.save(model.state_dict(), "model.pt")
"""
    assert "FSDP701" in analyse(main(run, RECORDS.format(kinds="()"))).codes


OPTION = """
import argparse, enum

class Kind(enum.Enum):
    SHARDED = "sharded"
    COPIED = "copied"

    @property
    def gathers(self):
        return self is Kind.{gathers}
"""
PARSED = """
parser = argparse.ArgumentParser()
{where}.add_argument("--kind", type=Kind, default=Kind.SHARDED)
kind = parser.parse_args().kind
model = Net()
if kind is Kind.SHARDED:
    fully_shard(model)
if kind.gathers:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


@pytest.mark.parametrize("where", ["parser", 'parser.add_argument_group("parallel")'])
def test_an_option_of_a_class_of_the_project(where: str) -> None:
    assert "FSDP701" not in analyse(main(PARSED.format(where=where), OPTION.format(gathers="SHARDED"))).codes
    assert "FSDP701" in analyse(main(PARSED.format(where=where), OPTION.format(gathers="COPIED"))).codes


WEIGHTS = """
import json
from dataclasses import dataclass
from pydantic import BaseModel

class Section(BaseModel):
    weights: str | None = None

class Settings(BaseModel):
    weights: str | None = None
    section: Section = Section()

@dataclass
class Record:
    weights: str = ""

def mine(path):
    return {{"weights": f"{{path}}.{{dist.get_rank()}}"}}
"""
LOADS = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.load_state_dict(torch.load({path}, map_location="cpu"))
"""
SAID = {
    "fields out of a file": 'Settings(**yaml.safe_load(open("a.yaml"))).weights',
    "a record in a record": 'Settings(**yaml.safe_load(open("a.yaml"))).section.weights',
    "a section": 'Record(**json.load(open("a.json"))["train"]).weights',
    "checked": 'Settings.model_validate(json.load(open("a.json"))).section.weights',
    "out of a text": 'Settings.model_validate_json(open("a.json").read()).weights',
}


@pytest.mark.parametrize("path", SAID.values(), ids=SAID)
def test_a_field_that_settings_fill_is_the_same_on_all_ranks(path: str) -> None:
    assert "FSDP705" in analyse(main(LOADS.format(path=path), WEIGHTS.format())).codes


OF_EACH_RANK = {
    "fields by hand": 'Record(**mine("a")).weights',
    "checked": 'Settings.model_validate(mine("a")).weights',
    "a keyword beside the file": 'Settings(weights=f"{dist.get_rank()}.pt", **json.load(open("a.json"))).weights',
}


@pytest.mark.parametrize("path", OF_EACH_RANK.values(), ids=OF_EACH_RANK)
def test_a_field_that_each_rank_fills_for_itself_is_not(path: str) -> None:
    assert "FSDP705" not in analyse(main(LOADS.format(path=path), WEIGHTS.format())).codes


PICKED = """
from dataclasses import dataclass

@dataclass
class Batch:
    ids: torch.Tensor
    mask: torch.Tensor

    def pick(self, places):
        return Batch(*(getattr(self, name)[places] for name in self.__dataclass_fields__))
"""
TRAIN = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
torch.manual_seed({seed})
batch = Batch(torch.randint(9, (64,)), torch.ones(64))
order = torch.Generator().manual_seed(0)
for places in torch.randperm(64, generator=order).split(8):
    part = batch.pick(places)
    loss = (model(part.ids) * part.mask).sum()
    loss.backward()
    if loss.item() > 9:
        break
"""


def test_the_fields_of_a_record_by_their_names() -> None:
    """Each rank draws its own batch, or all draw the same."""
    assert analyse(main(TRAIN.format(seed="1 + dist.get_rank()"), PICKED)).codes == ["FSDP801"]
    assert "FSDP801" not in analyse(main(TRAIN.format(seed=1), PICKED)).codes


FILLED = """
import json
from dataclasses import dataclass, field, fields

@dataclass
class Options:
    prompts: list = field(default_factory=list)
    scales: dict = field(default_factory=dict)
    steps: int = 3

def filled(options, mapping):
    for key, value in mapping.items():
        setattr(options, key, value)
    return options
"""
SAMPLED = """
options = {}
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(options.steps):
    model(torch.zeros(1, 4).long()).sum().backward()
    for each in {}:
        with torch.no_grad():
            model(torch.tensor([each]))
    optimizer.step()
"""


@pytest.mark.parametrize("gone_through", ["options.prompts", "options.scales.values()"])
@pytest.mark.parametrize(("made", "found"), [
    ("filled(Options(), json.load(open('options.json')))", True),
    ("Options()", False),
])  # fmt: skip
def test_a_list_may_be_filled_by_its_name(made: str, gone_through: str, found: bool) -> None:
    assert ("FSDP407" in analyse(main(SAMPLED.format(made, gone_through), FILLED)).codes) is found
