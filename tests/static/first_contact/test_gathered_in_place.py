"""A state dict whose tensors a loop replaces by gathered ones, and what only looks like it."""

from __future__ import annotations

import textwrap

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

HELPERS = """
def one(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

def gather(held, kind=DTensor):
    for name, tensor in list(held.items()):
        if isinstance(tensor, kind):
            held[name] = tensor.full_tensor()
    return held

def is_writer(group=None):
    return dist.get_rank(group=group) == 0
"""
PLAIN = "held = model.state_dict()"
SAVE = """
torch.save({"model": held}, "model.pt")
"""


def saved(loop: str, read: str = PLAIN, save: str = SAVE) -> list[str]:
    parts = (SHARDED, read, textwrap.dedent(loop), save)
    return analyse(main("\n".join(parts), HELPERS)).codes


IN_PLACE = {
    "items": """
    for name, tensor in held.items():
        if isinstance(tensor, DTensor):
            held[name] = tensor.full_tensor()
    """,
    "a list of its items": """
    for name, tensor in list(held.items()):
        if isinstance(tensor, DTensor):
            held[name] = tensor.full_tensor()
    """,
    "in order": """
    for name, tensor in sorted(held.items()):
        if hasattr(tensor, "full_tensor"):
            held[name] = tensor.full_tensor().cpu()
    """,
    "keys": """
    for name in held.keys():
        if isinstance(held[name], DTensor):
            held[name] = held[name].full_tensor()
    """,
    "each key": """
    for name in list(held):
        tensor = held[name]
        if isinstance(tensor, DTensor):
            tensor = tensor.full_tensor()
        held[name] = tensor.cpu()
    """,
    "the others are left": """
    for name, tensor in tuple(held.items()):
        if not isinstance(tensor, DTensor):
            continue
        held[name] = tensor.full_tensor()
    """,
    "a helper for the dict": "gather(held)",
    "a helper that gives it back": "held = gather(held)",
    "a helper for each tensor": """
    for name in list(held):
        held[name] = one(held[name])
    """,
    "taken out and put back": """
    for name in list(held):
        tensor = held.pop(name)
        held[name] = one(tensor)
    """,
    "updated": "held.update({name: one(tensor) for name, tensor in held.items()})",
    "updated where it must": """
    held.update({name: tensor.full_tensor() for name, tensor in held.items() if isinstance(tensor, DTensor)})
    """,
    "an inner loop that is left": """
    for name, tensor in list(held.items()):
        for end in (".bias", ".weight"):
            if name.endswith(end):
                break
        held[name] = one(tensor)
    """,
}


@pytest.mark.parametrize("read", [PLAIN, "held = dict(model.state_dict())", "held = model.layers.state_dict()"])
@pytest.mark.parametrize("loop", IN_PLACE)
def test_each_tensor_is_replaced_by_the_whole(loop: str, read: str) -> None:
    assert saved(IN_PLACE[loop], read) == []


def test_before_another_rank_than_the_writer_goes() -> None:
    """Who writes does not matter: what is written is whole."""
    leave = """
if not is_writer(group=dist.new_group()):
    return
"""
    assert saved("gather(held)", save=leave + SAVE) == []
    assert saved("", save=leave + SAVE) == ["FSDP701"]


def test_the_state_of_each_part() -> None:
    parts = """
for number, part in enumerate(model.layers):
    held = part.state_dict()
    {gather}
    torch.save(held, f"{number}.pt")
"""
    assert saved(parts.replace("{gather}", "gather(held)"), save="") == []
    assert saved(parts.replace("{gather}", "gather(dict(), held)"), save="") == ["FSDP701"]


STAYS = {
    "as it is": "",
    "a copy of each shard": """
    for name, tensor in list(held.items()):
        if isinstance(tensor, DTensor):
            held[name] = tensor.clone()
    """,
    "one key": """
    held["head.weight"] = held["head.weight"].full_tensor()
    """,
    "the others": """
    for name, tensor in list(held.items()):
        if not isinstance(tensor, DTensor):
            held[name] = tensor.cpu()
    """,
    "the first": """
    for name, tensor in list(held.items()):
        if isinstance(tensor, DTensor):
            held[name] = tensor.full_tensor()
            break
    """,
    "another dict": """
    other = {}
    for name, tensor in list(held.items()):
        if isinstance(tensor, DTensor):
            other[name] = tensor.full_tensor()
    """,
    "other keys": """
    for name, tensor in list(held.items()):
        if isinstance(tensor, DTensor):
            held["model." + name] = tensor.full_tensor()
    """,
    "one key again and again": """
    for name, tensor in list(held.items()):
        held["last"] = tensor.full_tensor()
    """,
    "some of them": """
    for name in list(held)[:3]:
        held[name] = held[name].full_tensor()
    """,
    "any one": """
    name = next(iter(held))
    held[name] = held[name].full_tensor()
    """,
    "read again": """
    gather(held)
    held = model.state_dict()
    """,
    "updated with copies": "held.update({name: tensor.cpu() for name, tensor in held.items()})",
}


@pytest.mark.parametrize("loop", STAYS)
def test_shards_that_stay_are_still_reported(loop: str) -> None:
    assert saved(STAYS[loop]) == ["FSDP701"]


def test_whether_each_rank_has_its_own_file_is_only_said_where_it_is_seen() -> None:
    def said(path: str, before: str = "") -> list[str]:
        found = analyse(main(f"{SHARDED}{before}\ntorch.save(model.state_dict(), {path})")).result.findings
        return [each.message for each in found]

    assert [("one file per rank" in each) for each in said('f"{dist.get_rank()}.pt"')] == [True]
    assert [("even if each rank" in each) for each in said("path", "import elsewhere\npath = elsewhere.path()")] == [
        True
    ]
    assert [("only this rank's shards" in each) for each in said('"model.pt"')] == [True]
