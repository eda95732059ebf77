"""The state dict of an optimizer is nested, and loops over a dict replace what it holds."""

from __future__ import annotations

import textwrap

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

STEPPED = """
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(2, 8)).sum().backward()
optimizer.step()
optimizer.zero_grad()
"""
SAVE = 'torch.save({"optimizer": held}, "model.pt")'


def saved(made: str) -> list[str]:
    return analyse(main("\n".join((SHARDED, STEPPED, textwrap.dedent(made), SAVE)))).codes


WHOLE = {
    "in place": """
    held = optimizer.state_dict()
    for state in held["state"].values():
        for name, value in state.items():
            if isinstance(value, DTensor):
                state[name] = value.full_tensor()
    """,
    "by the keys of both": """
    held = optimizer.state_dict()
    for index, state in held["state"].items():
        for name in list(state):
            if hasattr(state[name], "full_tensor"):
                held["state"][index][name] = state[name].full_tensor().cpu()
    """,
    "a dict for each parameter": """
    held = optimizer.state_dict()
    for index in held["state"]:
        state = held["state"][index]
        held["state"][index] = {n: v.full_tensor() if isinstance(v, DTensor) else v for n, v in state.items()}
    """,
    "all states anew": """
    held = optimizer.state_dict()
    held["state"] = {
        index: {n: v.full_tensor() if isinstance(v, DTensor) else v for n, v in state.items()}
        for index, state in held["state"].items()
    }
    """,
    "a dict of its own": """
    raw = optimizer.state_dict()
    held = {"groups": raw.get("param_groups"), "state": {}}
    for index, state in raw.get("state").items():
        held["state"][index] = {n: v.full_tensor() if isinstance(v, DTensor) else v for n, v in state.items()}
    """,
    "a dict of the model's tensors": """
    held = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    for name, tensor in held.items():
        if isinstance(tensor, DTensor):
            held[name] = tensor.full_tensor()
    """,
    "a dict of parameters": """
    held = dict(model.named_parameters())
    for name in held:
        held[name] = held[name].full_tensor()
    """,
    "a stack of dicts": """
    held = {"state": optimizer.state_dict(), "model": dict(model.state_dict())}
    stack = [held]
    while stack:
        node = stack.pop()
        for key, value in list(node.items()):
            if isinstance(value, dict):
                stack.append(value)
            elif isinstance(value, DTensor):
                node[key] = value.full_tensor()
    """,
    "a queue of dicts and lists": """
    held = {"model": {name: tensor for name, tensor in model.state_dict().items()}, "others": [1]}
    queue = [held]
    while len(queue) > 0:
        node = queue.pop(0)
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, (dict, list)):
                queue.append(value)
            elif hasattr(value, "full_tensor"):
                node[key] = value.full_tensor()
    """,
    "the settings": 'held = [group["lr"] for group in optimizer.state_dict()["param_groups"]]',
}
SHARDS = {
    "as it is": "held = optimizer.state_dict()",
    "the states": 'held = optimizer.state_dict()["state"]',
    "looked at": """
    held = optimizer.state_dict()
    for state in held["state"].values():
        for name, value in state.items():
            print(name, value.shape)
    """,
    "copies": """
    states = optimizer.state_dict()["state"]
    held = {index: {n: v.detach().cpu() for n, v in state.items()} for index, state in states.items()}
    """,
    "until one is found": """
    held = optimizer.state_dict()
    for state in held["state"].values():
        for name, value in state.items():
            if isinstance(value, DTensor):
                state[name] = value.full_tensor()
                break
    """,
    "behind the loop": """
    held = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    for name, tensor in held.items():
        print(name)
    held[name] = tensor.full_tensor()
    """,
    "flattened by a stack": """
    held, count = {"model": model.state_dict()}, {}
    stack = [held]
    while stack:
        node = stack.pop()
        for key, value in node.items():
            if isinstance(value, dict):
                stack.append(value)
            else:
                count[key] = value.numel()
    """,
    "moved": """
    held = optimizer.state_dict()
    for state in held["state"].values():
        for name, value in state.items():
            state[name] = value.cpu()
    """,
}


@pytest.mark.parametrize("made", WHOLE.values(), ids=WHOLE)
def test_states_that_a_loop_gathers_are_whole(made: str) -> None:
    assert "FSDP701" not in saved(made)


@pytest.mark.parametrize("made", SHARDS.values(), ids=SHARDS)
def test_states_that_stay_shards_are_found(made: str) -> None:
    assert "FSDP701" in saved(made)
