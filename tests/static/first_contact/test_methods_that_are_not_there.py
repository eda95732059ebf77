"""A method that an object of the project does not have: the call is an error, and changes nothing it is given."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

KEEPER = """
import plugins

class Bare:
    pass

class Keeper(Bare):
    def __init__(self, folder):
        self.folder = folder

    def store(self, model):
        print(self.folder, model)

{}
"""
BODY = """
keeper = {made}
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
if os.environ.get("RESUME"):
    {call}
model(torch.zeros(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""
ABSENT = (
    "keeper.restore(model, optimizer)",
    "print(keeper.resume_from('last', optimizer=optimizer))",
    "try:\n        keeper.restore(optimizer)\n    except AttributeError:\n        pass",
)
PERHAPS = {
    "it answers for all names": (
        "Keeper('out')",
        "    def __getattr__(self, name):\n        return plugins.find(name)",
    ),
    "its class is made by unseen code": ("Made('out')", "@plugins.extend\nclass Made(Keeper):\n    pass"),
    "its metaclass is not seen": ("Made('out')", "class Made(Keeper, metaclass=plugins.Meta):\n    pass"),
    "a base is not seen": ("Made('out')", "class Made(Keeper, plugins.Base):\n    pass"),
    "it was in unseen hands": ("plugins.extend(Keeper('out'))", ""),
    "it was in unseen hands before": ("Keeper('out')\nplugins.extend(keeper)", ""),
    "methods are given to its class": ("Keeper('out')\nKeeper.restore = plugins.restore", ""),
    "its class was in unseen hands": ("Keeper('out')\nplugins.extend(Keeper)", ""),
    "a base was in unseen hands": ("Keeper('out')\nplugins.extend(bases=[Bare])", ""),
    "methods of any name are": (
        "Keeper('out')\nfor name in plugins.NAMES:\n    setattr(Keeper, name, plugins.one)",
        "",
    ),
    "they are given to the object": (
        "Keeper('out')\nfor name in plugins.NAMES:\n    setattr(keeper, name, plugins.one)",
        "",
    ),
}


def codes(call: str, made: str = "Keeper('out')", more: str = "") -> list[str]:
    return analyse(script(BODY.format(made=made, call=call), KEEPER.format(more))).codes


@pytest.mark.parametrize("call", ABSENT)
def test_what_it_is_given_stays_as_it_is(call: str) -> None:
    assert codes(call) == ["FSDP601"]


@pytest.mark.parametrize("case", PERHAPS)
def test_what_may_have_it_may_do_anything(case: str) -> None:
    assert codes("keeper.restore(model, optimizer)", *PERHAPS[case]) == []


def test_nothing_comes_after_it() -> None:
    assert codes("keeper.restore()\n    optimizer = torch.optim.AdamW(model.parameters())") == ["FSDP601"]
