"""Correct programs in the manner in which people write: each idiom was once misread, and is clean; its twin is not."""

from __future__ import annotations

import textwrap

import pytest

from .program import analyse, script

IMPORTS = """
import contextlib
import re
from collections import defaultdict
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, distribute_tensor
"""
BATCHES = """
def batches():
    yield from torch.ones(3, 2)
"""
START = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(0)
"""
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters())
for batch in batches():
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
SHARDED = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""
EMPTY = """
with torch.device("meta"):
    model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
"""


def program(*parts: str, before: str = "") -> str:
    return script("".join(map(textwrap.dedent, (START, *parts))), IMPORTS + BATCHES + before)


def averaged(update: str, shadow: str = "{n: p.detach().clone() for n, p in model.named_parameters()}") -> str:
    body = textwrap.indent(textwrap.dedent(update), "        ")
    return f"shadow = {shadow}\nwith torch.no_grad():\n    for n, p in model.named_parameters():\n{body}\n"


COPIES = {
    "an average by name": averaged("shadow[n].lerp_(p.detach(), 0.1)"),
    "operators on an average": averaged("shadow[n] *= 0.9\nshadow[n] += 0.1 * p"),
    "data of a copy": """
        copies = [p.detach().clone() for p in model.parameters()]
        for copy, p in zip(copies, model.parameters()):
            copy.data = p.data
    """,
    "data of a gradient": "for p in model.parameters():\n    p.grad.data = p.grad.data * 0.5\n",
    "a list of parameters by index": """
        params = list(model.parameters())
        with torch.no_grad():
            for i in range(len(params)):
                params[i].add_(params[i].grad, alpha=-0.1)
    """,
}
LOST = {
    "rows": "with torch.no_grad():\n    model.head.weight[0].zero_()\n",
    "rows of each, out of a list": """
        params = list(model.parameters())
        with torch.no_grad():
            for p in params:
                p[:2].zero_()
    """,
    "data": "for p in model.parameters():\n    p.data = p.data * 0.5\n",
}


@pytest.mark.parametrize("update", COPIES.values(), ids=COPIES)
def test_a_copy_of_a_parameter_may_be_written(update: str) -> None:
    assert analyse(program(SHARDED, TRAIN, update)).codes == []


@pytest.mark.parametrize("update", LOST.values(), ids=LOST)
def test_a_parameter_loses_what_is_written_past_it(update: str) -> None:
    assert "FSDP205" in analyse(program(SHARDED, TRAIN, update)).codes


PLANS = {
    "two slices": """
        for block in model.layers[:-2]:
            fully_shard(block)
        for block in model.layers[-2:]:
            fully_shard(block, reshard_after_forward=False)
    """,
    "even and odd": """
        for block in model.layers[0::2]:
            fully_shard(block)
        for block in model.layers[1::2]:
            fully_shard(block)
    """,
    "two ranges": """
        for i in range(4):
            fully_shard(model.layers[i])
        for i in range(4, 8):
            fully_shard(model.layers[i])
    """,
    "halves, each one group": """
        half = len(model.layers) // 2
        fully_shard(list(model.layers[:half]))
        fully_shard(list(model.layers[half:]))
    """,
    "groups of two": """
        for i in range(0, len(model.layers), 2):
            fully_shard(list(model.layers[i : i + 2]))
    """,
    "groups that are flushed": """
        group = []
        for block in model.layers:
            group.append(block)
            if len(group) == 2:
                fully_shard(group)
                group = []
        if group:
            fully_shard(group)
    """,
    "a submodule by a computed name": """
        for i in range(len(model.layers)):
            fully_shard(model.get_submodule(f"layers.{i}"))
    """,
    "a dict with a pattern": """
        found = {n: m for n, m in model.named_modules() if re.fullmatch(r"layers\\.[0-9]+", n)}
        for part in found.values():
            fully_shard(part)
    """,
    "breadth first, backwards": """
        order = [model]
        for part in order:
            order.extend(part.children())
        for part in reversed(order):
            if isinstance(part, Block):
                fully_shard(part)
    """,
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_plan_is_right(plan: str) -> None:
    assert analyse(program("model = Net()\n", plan, "fully_shard(model)\n", TRAIN)).codes == []


def test_each_block_twice_is_wrong() -> None:
    plan = "for _ in range(2):\n    pass\nfor block in model.layers:\n    fully_shard(block)\n"
    assert "FSDP305" in analyse(program("model = Net()\n", plan, plan, "fully_shard(model)\n", TRAIN)).codes


def test_the_root_by_the_empty_name() -> None:
    plan = 'for name in ("layers.0", "layers.1", ""):\n    fully_shard(model.get_submodule(name))\n'
    assert "FSDP303" not in analyse(program("model = Net()\n", plan, TRAIN)).codes


VALUES = {
    "out of a dict": """
        stored = torch.load("start.pt", map_location="cpu")
        with torch.no_grad():
            for name, p in dict(model.named_parameters()).items():
                p.copy_(distribute_tensor(stored[name].cuda(), p.device_mesh, p.placements))
    """,
    "by a worklist": """
        left = [model]
        while left:
            part = left.pop()
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()
            left.extend(part.children())
    """,
    "by class patterns": """
        for part in model.modules():
            match part:
                case nn.Linear() | nn.Embedding():
                    part.reset_parameters()
    """,
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_parameter_gets_a_value(values: str) -> None:
    assert analyse(program(EMPTY, values, TRAIN)).codes == []


def test_only_what_is_on_meta_is_reset() -> None:
    reset = """
        for part in model.modules():
            if any(p.is_meta for p in part.parameters(recurse=False)):
                part.to_empty(device="cuda", recurse=False)
                part.reset_parameters()
    """
    assert "FSDP207" not in analyse(program(EMPTY, reset, TRAIN)).codes


SHARD_IF = """
model = Net().cuda()
if dist.get_world_size() > 1:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
"""
SAVE = """
if {asked}:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


@pytest.mark.parametrize("asked", ["isinstance(model, FSDPModule)", 'hasattr(model, "unshard")'])
def test_the_plain_save_of_what_was_not_sharded(asked: str) -> None:
    assert analyse(program(SHARD_IF, TRAIN, SAVE.format(asked=asked))).codes == []


def test_the_plain_save_of_what_was_sharded() -> None:
    swapped = SAVE.format(asked="not isinstance(model, FSDPModule)")
    assert analyse(program(SHARD_IF, TRAIN, swapped)).codes == ["FSDP701"]


LOAD = """
stored, state = torch.load("start.pt", map_location="cpu"), {}
for name, target in model.state_dict().items():
    if isinstance(target, DTensor):
        state[name] = distribute_tensor(stored[name].cuda(), target.device_mesh, target.placements)
    else:
        state[name] = stored[name].cuda()
model.load_state_dict(state, assign=True)
"""


def test_plain_tensors_for_what_is_no_dtensor() -> None:
    assert analyse(program(SHARDED, LOAD, TRAIN)).codes == []
    plain = 'model.load_state_dict(torch.load("start.pt", map_location="cpu"))\n'
    assert analyse(program(SHARDED, plain, TRAIN)).codes == ["FSDP705"]


def test_a_momentum_model_is_no_optimizer() -> None:
    update = """
        slow = Net().requires_grad_(False)
        fully_shard(slow)
        loss = model(torch.ones(2)).sum()
        with torch.no_grad():
            for mine, theirs in zip(slow.parameters(), model.parameters()):
                mine.mul_(0.9).add_(theirs, alpha=0.1)
        loss.backward()
    """
    assert "FSDP602" not in analyse(program(SHARDED, "optimizer = torch.optim.SGD(model.parameters())\n", update)).codes


def test_frozen_one_by_one() -> None:
    plan = """
        model = Net()
        ignored = set(model.head.parameters())
        for p in ignored:
            p.requires_grad_(False)
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model, ignored_params=ignored)
    """
    assert "FSDP315" not in analyse(program(plan, TRAIN)).codes
    assert "FSDP315" in analyse(program(plan.replace("p.requires_grad_(False)", "print(p.shape)"), TRAIN)).codes


ACCUMULATE = """
optimizer = torch.optim.SGD(model.parameters())
for i, batch in enumerate(batches()):
    with contextlib.ExitStack() as stack:
        model.set_requires_gradient_sync(False)
        stack.callback({restore})
        model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_switch_that_is_handed_on_may_be_called_any_time() -> None:
    assert "FSDP604" in analyse(program(SHARDED, ACCUMULATE.format(restore="print"))).codes
    restored = ACCUMULATE.format(restore="model.set_requires_gradient_sync, True")
    assert "FSDP604" not in analyse(program(SHARDED, restored)).codes


COUNTED = """
{begin}

def micro_step(model, optimizer, batch):
    {scope}
    model.set_requires_gradient_sync(({count} + 1) % 4 == 0)
    model(batch).sum().backward()
    {count} += 1
    if {count} % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
COUNTERS = {
    "a key": ("state = {'micro': 0}", "pass", "state['micro']"),
    "an attribute": ("import types\nstate = types.SimpleNamespace(micro=0)", "pass", "state.micro"),
    "a global name": ("micro = 0", "global micro", "micro"),
}


@pytest.mark.parametrize(("begin", "scope", "count"), COUNTERS.values(), ids=COUNTERS)
def test_a_counter_elsewhere_is_no_constant(begin: str, scope: str, count: str) -> None:
    steps = """
        optimizer = torch.optim.SGD(model.parameters())
        for batch in batches():
            micro_step(model, optimizer, batch)
    """
    before = COUNTED.format(begin=begin, scope=scope, count=count)
    assert analyse(program(SHARDED, steps, before=before)).codes == []


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK"])
@pytest.mark.parametrize("unset", ["-1", "'-1'"])
def test_a_rank_of_minus_one_is_that_of_no_job(name: str, unset: str) -> None:
    asked = f"if os.environ.get('{name}', {unset}) == {unset}:\n    raise SystemExit('start me with torchrun')\n"
    number = f"if int(os.environ.get('{name}', {unset})) == -1:\n    return\n"
    assert analyse(program(asked, number, SHARDED, TRAIN)).codes == []
    guarded = f"if int(os.environ.get('{name}', -1)) == 0:\n    model(torch.ones(2))\n"
    assert "FSDP801" in analyse(program(SHARDED, guarded, TRAIN)).codes


@pytest.mark.parametrize("policy", ["cfg.policy", "build_policy(cfg)", "Policy()"])
def test_what_is_applied_to_a_model_does_not_call_it(policy: str) -> None:
    """``policy.apply(model)`` is no ``nn.Module.apply(function)``: the model is no function for the policy's parts."""
    before = """
        from policies import Policy, build_policy, cfg
    """
    assert analyse(program(SHARDED, f"{policy}.apply(model)\n", TRAIN, before=textwrap.dedent(before))).codes == []
    assert "FSDP602" in analyse(program(SHARDED, "model(torch.ones(2))\n", TRAIN)).codes


SHARDED_OR_NOT = """
def prepare(model, kind):
    if kind == "plain":
        try:
            return model.cuda()
        finally:
            print("prepared")
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)
"""


@pytest.mark.parametrize(("kind", "codes"), [("plain", []), ("other", ["FSDP601"])])
def test_nothing_comes_behind_a_return_that_has_a_finally(kind: str, codes: list[str]) -> None:
    build = f"""
        model, kind = Net(), input()
        if kind == "{kind}":
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        prepare(model, kind)
        if kind != "{kind}":
            optimizer = torch.optim.AdamW(model.parameters())
    """
    train = TRAIN.partition("\n")[2].partition("\n")[2]
    assert analyse(program(build, train, before=SHARDED_OR_NOT)).codes == codes
