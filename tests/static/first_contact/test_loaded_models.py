"""What every model has that Hugging Face made or loaded, whichever class of the project stands between."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

CLASSES = """
from abc import ABC
from diffusers import UNet2DConditionModel
from transformers import PreTrainedModel

class Draft(PreTrainedModel, ABC):
    pass

class Small(Draft):
    def __init__(self, config):
        super().__init__(config)
        self.head = nn.Linear(64, 100)

class Loading(Small):
    @classmethod
    def from_pretrained(cls, path, **options):
        try:
            model = super().from_pretrained(path, **options)
        finally:
            print("loaded")
        return model

    @classmethod
    def load(cls, path):
        return cls.from_pretrained(path)

class Auto(AutoModelForCausalLM):
    @classmethod
    def from_pretrained(cls, path, *args, **options):
        return super(Auto, cls).from_pretrained(path, *args, **options)

class Plain(AutoModelForCausalLM):
    @classmethod
    def from_pretrained(cls, path):
        return Net()

class Reader:
    @classmethod
    def from_pretrained(cls, path):
        return Net()

class Other(Reader):
    @classmethod
    def from_pretrained(cls, path):
        return super().from_pretrained(path)

def save(model):
    if dist.get_rank() == 0:
        if hasattr(model, "{name}"):
            print("it saves itself")
        else:
            torch.save(model.state_dict(), "model.pt")
"""


def saved(made: str, name: str = "save_pretrained") -> bool:
    body = f"config = sys.argv[1]\nmodel = {made}\nfully_shard(model)\nsave(model)"
    return "FSDP701" in analyse(main(body, CLASSES.replace("{name}", name))).codes


HAS = """Small(config)
Small.from_pretrained("path")
Loading.from_pretrained("path")
Loading.load("path")
Auto.from_pretrained("path")
AutoModel.from_config(config)
LlamaForCausalLM.from_pretrained("path")
UNet2DConditionModel.from_pretrained("path")""".splitlines()
HAS_NOT = """Net()
Plain.from_pretrained("path")
Reader.from_pretrained("path")
Other.from_pretrained("path")""".splitlines()


@pytest.mark.parametrize("made", HAS)
def test_what_was_loaded_can_save_itself(made: str) -> None:
    assert not saved(made)


@pytest.mark.parametrize("made", HAS_NOT)
def test_what_only_sounds_like_it_cannot(made: str) -> None:
    assert saved(made)


@pytest.mark.parametrize("made", HAS[1:])
def test_what_not_every_model_has_is_left_open(made: str) -> None:
    assert saved(made, name="save_sharded")


def one_of(number: int, last: str) -> str:
    """A model out of so many, each on a path that asks six things."""
    made = ("Small(config)", 'Small.from_pretrained("path")')
    arms = []
    for arm in range(number):
        asked = " and ".join(f"config.asked_{arm}_{each}" for each in range(6))
        arms.append(f"{'elif' if arm else 'if'} {asked}:\n    model = {made[arm % 2]}")
    return "\n".join([*arms, f"else:\n    model = {last}", ""])


@pytest.mark.parametrize("number", [1, 3, 7])
def test_each_of_many_models_can_save_itself(number: int) -> None:
    """What is asked has the same answer for each, however much their paths ask."""

    def reported(last: str) -> bool:
        start = 'config = yaml.safe_load(open("settings.yaml"))\n'
        body = start + one_of(number, last) + "fully_shard(model)\nsave(model)"
        return "FSDP701" in analyse(main(body, CLASSES.replace("{name}", "save_pretrained"))).codes

    assert not reported("Small(config)")
    assert reported("Net()")


TWO_MANAGERS = """
class Scheduler:
    pass

class Plain:
    def save(self, model): pass

class Multi:
    def save(self, scheduler: Scheduler): pass
"""


def test_a_model_keeps_its_name_where_another_method_is_called_with_it() -> None:
    body = """
    model = AutoModelForCausalLM.from_pretrained("some/model")
    keeper = Plain() if len(sys.argv) > 3 else Multi()
    keeper.save(model)
    fully_shard(model)
    """
    (found,) = [each for each in analyse(main(body, TWO_MANAGERS)).result.findings if each.code == "FSDP301"]
    assert "AutoModelForCausalLM" in found.message
