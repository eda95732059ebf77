"""Windows of micro-batches that are given up, and correct loops that look like it."""

from __future__ import annotations

import textwrap

import pytest

from fsdp2_lint.vocab.target import Version
from tests.static.program import NET, analyse

HEAD = f"""\
import math
import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

{NET}

dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
K = int(os.environ["K"])
loader = torch.utils.data.DataLoader(torch.load("tokens.pt"))
"""
SWITCHED = """
for i, tokens in enumerate(loader):
    last = (i + 1) % K == 0
    model.set_requires_gradient_sync(last)
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    {before}
    (loss / K).backward()
    {after}
    if last:
        optimizer.step()
        optimizer.zero_grad()
"""
DROPPED = "if not torch.isfinite(loss):\n    optimizer.zero_grad()  # fault\n    continue"
FAULTS = {
    "before the backward": SWITCHED.format(before=textwrap.indent(DROPPED, "    ").strip(), after=""),
    "after the backward": SWITCHED.format(before="", after=textwrap.indent(DROPPED, "    ").strip()),
    "by a number": SWITCHED.format(
        before="", after="if math.isnan(loss.item()):\n        model.zero_grad()  # fault\n        continue"
    ),
    "by all ranks": SWITCHED.format(
        before="",
        after="bad = torch.isnan(loss).float()\n    dist.all_reduce(bad)\n    if bad.item() > 0:\n"
        "        optimizer.zero_grad()  # fault\n        continue",
    ),
    "by two calls": """
def train(micro_batches):
    model.set_requires_gradient_sync(False)
    for tokens in micro_batches[:-1]:
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        if loss > 10:
            optimizer.zero_grad()  # fault
            return
    model.set_requires_gradient_sync(True)
    F.cross_entropy(model(micro_batches[-1]).flatten(0, 1), micro_batches[-1].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()


for micro_batches in loader:
    train(micro_batches)
""",
}
CORRECT = {
    "windows that begin with the clearing": SWITCHED.format(
        before="if i % K == 0:\n        optimizer.zero_grad()", after=""
    ),
    "a window that begins by a flag": "fresh = True\n"
    + SWITCHED.format(before="if fresh:\n        optimizer.zero_grad()\n    fresh = last", after=""),
    "what is not finite is left out in the last round": SWITCHED.format(
        before="", after="if last and not torch.isfinite(loss):\n        optimizer.zero_grad()\n        continue"
    ),
    "a boundary that another object knows": SWITCHED.format(
        before="", after="if os.environ.get('READY'):\n        optimizer.zero_grad()\n        continue"
    ),
    "synchronised all along": SWITCHED.format(before="", after=textwrap.indent(DROPPED, "    ").strip()).replace(
        "set_requires_gradient_sync(last)", "set_requires_gradient_sync(True)"
    ),
    "an epoch that begins with the clearing": "for epoch in range(3):\n    optimizer.zero_grad()\n"
    + textwrap.indent(SWITCHED.format(before="", after=""), "    "),
    "reset_iter_state": SWITCHED.format(
        before="",
        after=textwrap.indent(DROPPED, "    ")
        .strip()
        .replace("continue", "model.reset_iter_state()\n        continue"),
    ),
    "another model that learns": "other = nn.Linear(4, 4)\nfully_shard(other)\n"
    + "adam = torch.optim.AdamW(other.parameters())\n"
    + FAULTS["after the backward"],
    "what is frozen for a while": FAULTS["after the backward"].replace(
        "loss = F", "model.requires_grad_(False)\n    loss = F"
    ),
    "windows as lists": """
for micro_batches in loader:
    for number, tokens in enumerate(micro_batches):
        model.set_requires_gradient_sync(number == len(micro_batches) - 1)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        (loss / K).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if torch.isfinite(norm):
        optimizer.step()
    optimizer.zero_grad()
""",
    "a step that is left out after the last backward": """
for micro_batches in loader:
    model.set_requires_gradient_sync(False)
    for tokens in micro_batches[:-1]:
        F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
    model.set_requires_gradient_sync(True)
    F.cross_entropy(model(micro_batches[-1]).flatten(0, 1), micro_batches[-1].flatten()).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if not torch.isfinite(norm):
        optimizer.zero_grad()
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
}


def _rows(text: str) -> list[int]:
    return [row for code, _, row in analyse(text).found if code == "FSDP615"]


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_given_up_stays(name: str) -> None:
    text = HEAD + FAULTS[name]
    assert _rows(text) == [row for row, line in enumerate(text.splitlines(), 1) if "# fault" in line]


@pytest.mark.parametrize("name", CORRECT)
def test_correct_loops(name: str) -> None:
    assert _rows(HEAD + CORRECT[name]) == []


@pytest.mark.parametrize(("torch", "told"), [((2, 13), True), ((2, 14), True), ((2, 15), False)])
def test_what_reset_iter_state_clears_depends_on_the_torch(torch: Version, told: bool) -> None:
    text = HEAD + CORRECT["reset_iter_state"]
    analysis = analyse(text, torch=torch)
    found = [each for each in analysis.result.findings if each.code == "FSDP615"]
    assert len(found) == told and all(f"torch 2.{torch[1]}" in each.message for each in found)
    assert analysis.verdicts("FSDP615") == {"violated" if told else "unknown"}


MESHES = {
    "replicas": 'dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))',
    "no replicas": 'dist.init_device_mesh("cpu", (4,))',
    "not known": "make_mesh()",
}


def _with_mesh(mesh: str, loop: str, setter: str = "set_requires_all_reduce") -> str:
    """The loop, with the switch for replicas, on one of the meshes."""
    text = HEAD.replace("import math\n", "import math\nfrom meshes import make_mesh\n")
    made = text.replace("model = Net()\n", f"mesh = {MESHES[mesh]}\nmodel = Net()\n")
    sharded = made.replace("fully_shard(layer)", "fully_shard(layer, mesh=mesh)")
    sharded = sharded.replace("fully_shard(model)", "fully_shard(model, mesh=mesh)")
    return sharded + loop.replace("set_requires_gradient_sync", setter)


def test_partial_sums_of_replicas_stay() -> None:
    text = _with_mesh("replicas", FAULTS["after the backward"])
    assert _rows(text) == [row for row, line in enumerate(text.splitlines(), 1) if "# fault" in line]


@pytest.mark.parametrize(
    ("mesh", "verdict"),
    [pytest.param("no replicas", "upheld", id="none"), pytest.param("not known", "unknown", id="?")],
)
def test_there_may_be_no_replicas(mesh: str, verdict: str) -> None:
    text = _with_mesh(mesh, FAULTS["after the backward"])
    assert _rows(text) == [] and analyse(text).verdicts("FSDP615") == {verdict}


def test_two_switches() -> None:
    text = _with_mesh("replicas", FAULTS["after the backward"])
    text = text.replace("    model.set_req", "    model.set_requires_gradient_sync(last)\n    model.set_req", 1)
    assert _rows(text) == [] and analyse(text).verdicts("FSDP615") == {"unknown"}


@pytest.mark.parametrize("name", ["windows that begin with the clearing", "reset_iter_state", "windows as lists"])
def test_correct_loops_with_replicas(name: str) -> None:
    assert _rows(_with_mesh("replicas", CORRECT[name])) == []


CHOSEN = """
import contextlib


@contextlib.contextmanager
def deferred():
    model.set_requires_gradient_sync(False)
    yield
    model.set_requires_gradient_sync(True)


def train(micro_batches):
    for index, tokens in enumerate(micro_batches):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        with contextlib.nullcontext() if index == 3 else deferred():
            loss.backward()
        if math.isnan(loss.item()):
            optimizer.zero_grad()
            return
    optimizer.step()
    optimizer.zero_grad()


train(batches)
"""


NEXT_EPOCH = "for epoch in range(3):\n    train(list(loader))"


@pytest.mark.parametrize(
    ("given_up", "calls", "verdicts"),
    [
        ("return", "train(list(loader))", set()),  # no step comes after it
        ("return", NEXT_EPOCH, {"violated"}),
        ("continue", "train(list(loader))", {"violated"}),
        ("break", "train(list(loader))", set()),
    ],
)
def test_a_context_manager_that_is_chosen(given_up: str, calls: str, verdicts: set[str]) -> None:
    """It runs around the body in the rounds for which it is chosen."""
    text = CHOSEN.replace("return", given_up).replace("train(batches)", calls)
    assert analyse(HEAD + text).verdicts("FSDP615") == verdicts
    never = text.replace("nullcontext() if index == 3 else deferred()", "nullcontext()")
    assert analyse(HEAD + never).verdicts("FSDP615") == set(), "nothing is switched"


KINDS = """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def built():
    model = Net() if os.environ["KIND"] == "net" else Critic()
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


model = built()
optimizer = torch.optim.AdamW(model.parameters())


def loss_of(tokens):
    if os.environ["LOSS"] == "mse":
        return F.mse_loss(model(tokens), tokens)
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


def train(micro_batches):
    for i, tokens in enumerate(micro_batches):
        model.set_requires_gradient_sync(i == len(micro_batches) - 1)
        loss = loss_of(tokens)
        if not torch.isfinite(loss):
            optimizer.zero_grad()  # fault
            return
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for micro_batches in loader:
    train(micro_batches)
"""


def test_each_of_several_models_that_a_setting_chooses() -> None:
    before = HEAD.partition("model = Net()")[0]
    found = analyse(before + "loader = torch.utils.data.DataLoader(torch.load('tokens.pt'))\n" + KINDS)
    assert found.codes.count("FSDP615") >= 1
    assert "upheld" not in found.verdicts("FSDP615")


ALTERNATING = """
judge = Net()
fully_shard(judge)
judging = torch.optim.AdamW(judge.parameters())
for tokens in loader:
    judging.zero_grad()
    judge(tokens).sum().backward()
    judging.step()
    optimizer.zero_grad()
    judge.set_requires_gradient_sync(False)
    (model(tokens).sum() + judge(tokens).sum()).backward()
    judge.set_requires_gradient_sync(True)
    optimizer.step()
"""


def test_a_step_of_another_optimizer_uses_none_of_them() -> None:
    assert "unknown" in analyse(HEAD + ALTERNATING).verdicts("FSDP615")


SET_ONCE = """
model.set_requires_gradient_sync({})
for i, tokens in enumerate(loader):
    {}
    model(tokens).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("once", "each", "expected"),
    [
        ("K == 1", "pass", "unknown"),
        ("True", "pass", "upheld"),
        ("K == 1", "if K != 1:\n        raise ValueError", "upheld"),
        ("True", "model.set_requires_gradient_sync((i + 1) % K == 0)", "unknown"),  # each round steps
    ],
)
def test_a_switch_that_a_setting_sets(once: str, each: str, expected: str) -> None:
    assert analyse(HEAD + SET_ONCE.format(once, each)).verdicts("FSDP604") == {expected}


SHORT = """
def train(batches):
    for i, tokens in enumerate(batches):
        model.set_requires_gradient_sync({})
        model(tokens).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


for batches in loader:
    train(batches)
"""


@pytest.mark.parametrize("code", ["FSDP604", "FSDP615"])
@pytest.mark.parametrize(
    ("on", "expected"), [("i == K - 1", "unknown"), ("i == 3", "unknown"), ("i == len(batches) - 1", "upheld")]
)
def test_a_window_that_may_be_too_short(code: str, on: str, expected: str) -> None:
    assert analyse(HEAD + SHORT.format(on)).verdicts(code) == {expected}


# A window that is left in the middle: its gradients wait inside FSDP2 for a backward that does not come.
LEFT = """
from contextlib import contextmanager


@contextmanager
def held():
    model.set_requires_gradient_sync(False)
    try:
        yield
    finally:
        model.set_requires_gradient_sync(True)


def backward(tokens):
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    return loss


def accumulate(micro_batches):
    *early, final = micro_batches
    {manager}
        for tokens in early:
            loss = backward(tokens)
            {way_out}
    loss = backward(final)
    return bool(torch.isfinite(loss))


for micro_batches in loader:
    if accumulate(micro_batches):
        optimizer.step()
    optimizer.zero_grad()
"""
OUT = "if not torch.isfinite(loss):\n                "


def _left(way_out: str, manager: str = "with held():") -> str:
    return HEAD + LEFT.format(manager=manager, way_out=way_out)


@pytest.mark.parametrize("manager", ["with held():", "model.set_requires_gradient_sync(False)\n    if True:"])
def test_a_window_that_is_left_by_return_is_given_up(manager: str) -> None:
    text = _left(f"{OUT}return False", manager)
    if "with" not in manager:
        text = text.replace(
            "    loss = backward(final)", "    model.set_requires_gradient_sync(True)\n    loss = backward(final)"
        )
    assert len(_rows(text)) == 1


@pytest.mark.parametrize(
    "way_out",
    ["", f"{OUT}break", f"{OUT}continue", f"{OUT}raise RuntimeError(loss)"],
    ids=["it is not left", "the last backward comes all the same", "another round", "the job ends"],
)
def test_what_reduces_the_gradients_all_the_same(way_out: str) -> None:
    assert not _rows(_left(way_out))


def test_a_step_that_may_come_behind_a_way_out_is_not_known() -> None:
    text = """
for micro_batches in loader:
    for number, tokens in enumerate(micro_batches):
        model.set_requires_gradient_sync(number == len(micro_batches) - 1)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        if not torch.isfinite(loss):
            break
    if torch.rand(()) > 0.5:
        optimizer.step()
    optimizer.zero_grad()
"""
    assert analyse(HEAD + text).verdicts("FSDP615") == {"unknown"}
