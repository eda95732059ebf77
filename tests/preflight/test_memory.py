"""The memory of a step, against counts by hand: the comments are the count, and so is benchmarks/README.md."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.checkpoint import checkpoint

from fsdp2_lint.preflight.plan import sizes
from fsdp2_lint.preflight.plan.memory import Memory
from fsdp2_lint.preflight.plan.reading import plan_of
from fsdp2_lint.preflight.plan.shape import MemoryProfile, Plan, Rehearsed, Sample
from fsdp2_lint.runtime import adapter
from tests.preflight.fakes import Net, mesh, sharded, world

LAYERS, WIDTH, ROWS, RANKS = 5, 64, 3, 4


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def trained(
    make: Callable[[], nn.Module],
    step: Callable[[nn.Module], torch.Tensor],
    *,
    fake: bool,
    ranks: int = RANKS,
    steps: int = 2,
    blocks: bool = True,
    optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW,
    **options: Any,
) -> tuple[MemoryProfile, Plan]:
    """Some steps on one rank. The mesh is made outside the fake mode, which has no numbers to make one of."""
    with world(0, ranks):
        options = {"mesh": mesh(ranks), **options}
        with FakeTensorMode() if fake else nullcontext():
            model = make()
            for layer in model.layers if blocks else ():  # type: ignore[union-attr]
                fully_shard(layer, **options)  # type: ignore[arg-type]
            fully_shard(model, **options)
            built = optimizer(model.parameters(), lr=0.1)  # type: ignore[call-arg]
            memory = Memory()
            memory.begin(model)
            for number in range(1, steps + 1):
                step(model).backward()
                built.step()
                built.zero_grad()
                memory.end_of_step(number)
            memory.end()
            return memory.profile(), plan_of(model)


def stack_step(model: nn.Module) -> torch.Tensor:
    found: torch.Tensor = model(torch.randn(ROWS, WIDTH)).sum()
    return found


WEIGHT = WIDTH * WIDTH * 4  # one layer
ROW = ROWS * WIDTH * 4  # one activation
SHARDS = LAYERS * WEIGHT // RANKS
LOSS = 8  # the loss and its gradient


@pytest.mark.quick(1)
@pytest.mark.parametrize("fake", [False, True])
def test_a_stack_of_linear_layers(fake: bool) -> None:
    profile, plan = trained(Stack, stack_step, fake=fake)
    peak = profile.peak
    # In the backward of the second layer, when the gradient of its weight is there.
    assert (peak.phase, peak.where, peak.step, profile.steps) == ("backward", "layers.1", 2, 2)
    assert peak.held.parameters == SHARDS
    assert peak.held.optimizer == 2 * SHARDS  # exp_avg and exp_avg_sq
    assert peak.held.gradients == 3 * WEIGHT // RANKS  # of the three layers above it
    assert peak.held.unsharded == 2 * WEIGHT  # its own weight, and the buffer in which the first one's arrives
    assert peak.held.unsharded_gradients == WEIGHT  # the buffer that the layer above is reduced from
    # The inputs of the first layer and of this one; the gradients of its output, its input and its weight.
    assert peak.held.activations + peak.held.other == 2 * ROW + 2 * ROW + WEIGHT + LOSS
    assert peak.held.total == 3 * SHARDS + 3 * WEIGHT // RANKS + 4 * WEIGHT + 4 * ROW + LOSS == 142_344
    state = sizes.state(plan)
    assert (state.parameters, state.optimizer) == (peak.held.parameters, peak.held.optimizer)


def highest(profile: MemoryProfile, phase: str, step: int = 2) -> Sample:
    return max((each for each in profile.samples if (each.phase, each.step) == (phase, step)), key=_total)


def _total(sample: Sample) -> int:
    return sample.held.total


def test_the_forward_of_a_stack() -> None:
    """FSDP2 holds the last arrival buffer until the next one is copied out: three weights at once."""
    profile, _ = trained(Stack, stack_step, fake=False)
    top = highest(profile, "forward")
    assert top.where == "layers.4"
    assert top.held.unsharded == 3 * WEIGHT
    assert top.held.activations == (LAYERS - 1) * ROW and top.held.other == ROW  # what relu saved; the input
    last = [each for each in profile.samples if (each.phase, each.step) == ("forward", 2)][-1]
    assert last.held.activations == LAYERS * ROW


def test_gradients_have_the_size_of_their_shards() -> None:
    profile, plan = trained(Stack, stack_step, fake=True)
    optimizer = next(each for each in profile.samples if each.phase == "optimizer" and each.step == 2)
    assert optimizer.held.gradients == sizes.state(plan).gradients == SHARDS
    # One parameter after the other: the root of its second moment, and what it divides by.
    assert not optimizer.held.unsharded and not optimizer.held.activations


def test_one_group_has_all_of_it_at_once() -> None:
    """The root is gathered for the whole step, and all gradients are there before any is reduced."""
    profile, _ = trained(Stack, stack_step, fake=True, blocks=False)
    top = highest(profile, "backward")
    assert top.held.unsharded == LAYERS * WEIGHT
    # The gradients of all weights, of which that of the first layer is just computed; its input, and its output's.
    assert top.held.unsharded_gradients + top.held.other == LAYERS * WEIGHT + 2 * ROW


def test_what_is_not_resharded_stays() -> None:
    kept, _ = trained(Stack, stack_step, fake=True, reshard_after_forward=False)
    freed, _ = trained(Stack, stack_step, fake=True)
    last = [each for each in kept.samples if (each.phase, each.step) == ("forward", 2)][-1]
    assert last.held.unsharded == LAYERS * WEIGHT + WEIGHT  # and the last arrival buffer
    assert kept.peak.held.total > freed.peak.held.total


def test_what_is_cut_over_some_ranks_stays_in_part() -> None:
    profile, plan = trained(Stack, stack_step, fake=False, reshard_after_forward=2)
    last = [each for each in profile.samples if (each.phase, each.step) == ("forward", 2)][-1]
    kept = sum(map(sizes.kept_after_forward, plan.groups))
    assert kept == LAYERS * WEIGHT // 2
    assert last.held.unsharded == kept + WEIGHT


def test_low_precision_halves_what_is_gathered() -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    profile, _ = trained(Stack, stack_step, fake=True, mp_policy=policy)
    peak = profile.peak
    assert peak.held.parameters == SHARDS and peak.held.unsharded == 2 * WEIGHT // 2
    assert peak.held.unsharded_gradients == WEIGHT  # in float32, as they are reduced


class Checkpointed(Stack):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = checkpoint(lambda x, layer=layer: torch.relu(layer(torch.relu(x))), x, use_reentrant=False)
        return x


class Unchecked(Stack):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(torch.relu(x)))
        return x


def test_activation_checkpointing() -> None:
    """Of each layer its input stays, and not what relu made of it."""
    profiles = [trained(each, stack_step, fake=True)[0] for each in (Unchecked, Checkpointed)]
    lasts = [[each for each in found.samples if (each.phase, each.step) == ("forward", 2)][-1] for found in profiles]
    # The input is no activation; the relu before the first layer, then two for each.
    assert lasts[0].held.activations == 2 * LAYERS * ROW
    assert lasts[1].held.activations == LAYERS * ROW


BATCH, LENGTH, HEADS, VOCABULARY, BLOCKS = 2, 64, 4, 4096, 3


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.first(x)).view(BATCH, LENGTH, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.out(found)
        result: torch.Tensor = x + self.down(torch.relu(self.up(self.second(x))))
        return result


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Attention() for _ in range(BLOCKS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        result: torch.Tensor = self.head(x)
        return result


def decoder_step(model: nn.Module) -> torch.Tensor:
    tokens = torch.zeros(BATCH, LENGTH, dtype=torch.int64)
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize("fake", [False, True])
def test_a_decoder(fake: bool) -> None:
    profile, plan = trained(Decoder, decoder_step, fake=fake)
    tokens = BATCH * LENGTH
    one = tokens * WIDTH * 4  # x, of which there is one between two blocks
    # A block keeps: x; what the first norm made of it; q, k and v; attention's result, and one number for each row of
    # its scores; x again after the sum; what the second norm made of it; four times as much of relu. And of each norm
    # a mean and a deviation for each token. Not what `up`, `out` and `down` made, of which no derivative needs it.
    block = (1 + 1 + 3 + 1 + 1 + 1 + 4) * one + tokens * HEADS * 4 + 2 * 2 * tokens * 4
    # The head keeps its input, the loss the logarithms of all probabilities.
    logits = tokens * VOCABULARY * 4
    saved = BLOCKS * block + one + logits
    peak = profile.peak
    assert peak.phase == "backward" and peak.where == ""  # before it reaches the model: in the loss
    shards = sizes.state(plan).parameters
    numbers = sum(each.numel() for each in Decoder().parameters())
    assert shards == numbers * 4 // RANKS
    assert (peak.held.parameters, peak.held.optimizer, peak.held.gradients) == (shards, 2 * shards, 0)
    assert peak.held.unsharded == 2 * VOCABULARY * WIDTH * 4  # the root keeps the embedding and the head
    # The loss, its gradient, and the sum of the weights of all classes are numbers; so are the tokens, of 8 bytes.
    assert peak.held.activations == pytest.approx(saved, abs=16)
    assert peak.held.other == pytest.approx(2 * logits + tokens * 8, abs=16)  # gradients of both halves of the loss
    assert peak.held.total == pytest.approx(
        3 * shards + 2 * VOCABULARY * WIDTH * 4 + saved + 2 * logits + tokens * 8, abs=24
    )
    assert peak.held.total == pytest.approx(11_631_872, abs=24)  # as benchmarks/README.md has it


def test_offloading_keeps_the_state_on_the_host() -> None:
    policy = CPUOffloadPolicy(pin_memory=False)
    profile, plan = trained(Stack, stack_step, fake=False, offload_policy=policy)
    assert all(not (each.held.parameters or each.held.optimizer) for each in profile.samples)
    assert profile.host >= sizes.state(plan).host == 4 * SHARDS
    assert not highest(profile, "optimizer").held.total > ROW + LOSS


def test_parameters_in_no_group() -> None:
    def make() -> nn.Module:
        return nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(WIDTH, WIDTH)]), "head": nn.Linear(WIDTH, 8)})

    with world(0, RANKS):
        model = make()
        fully_shard(model["layers"][0])  # type: ignore[index]
        memory = Memory()
        memory.begin(model)
        optimizer = torch.optim.SGD(model.parameters())
        model["head"](model["layers"][0](torch.randn(3, WIDTH))).sum().backward()  # type: ignore[index]
        optimizer.step()
        memory.end_of_step(1)
        memory.end()
        step = next(each for each in memory.profile().samples if each.phase == "optimizer")
    head, layer = (WIDTH + 1) * 8 * 4, (WIDTH + 1) * WIDTH * 4 // RANKS
    assert step.held.parameters == step.held.gradients == head + layer


def watched(model: nn.Module, run: Callable[[], object]) -> MemoryProfile:
    memory = Memory()
    memory.begin(model)
    run()
    memory.end_of_step(1)
    memory.end()
    return memory.profile()


@pytest.mark.parametrize("low", [False, True])
def test_gradients_that_are_accumulated_stay_unsharded(low: bool) -> None:
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if low else MixedPrecisionPolicy()
    with world(0, RANKS):
        model = Stack()
        fully_shard(model, mp_policy=policy)
        model.set_requires_gradient_sync(False)  # type: ignore[attr-defined]
        profile = watched(model, lambda: stack_step(model).backward())
    # Whole, and in the dtype in which they will be reduced.
    assert profile.samples[-1].held.unsharded_gradients == LAYERS * WEIGHT
    assert not profile.samples[-1].held.gradients


def test_an_evaluation_keeps_no_activations() -> None:
    with world(0, RANKS):
        model = Stack()
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        with torch.no_grad():
            profile = watched(model, lambda: stack_step(model))
    after = [each for each in profile.samples if (each.phase, each.where) == ("forward", "")][-1]
    assert after.held.activations == ROW  # what it gave
    assert max(each.held.activations for each in profile.samples) == 2 * ROW  # one layer after the other


def test_begun_in_the_first_forward() -> None:
    """When a model comes to its first forward is when it is known how it is sharded."""
    with world(0, RANKS):
        model = Stack()
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
        memory = Memory()
        handle = model.layers[0].register_forward_pre_hook(lambda *_: memory.begin(model), prepend=True)
        for number in (1, 2):
            stack_step(model).backward()
            optimizer.step()
            optimizer.zero_grad()
            memory.end_of_step(number)
            handle.remove()
        memory.end()
        found = memory.profile()
    whole, _ = trained(Stack, stack_step, fake=False)
    assert found.peak == whole.peak


@pytest.mark.slow
def test_tensor_parallel_and_replicas() -> None:
    with world(0, 8):
        grid = mesh(2, 2, 2, names=("replicate", "shard", "tp"))
        model = Net(width=16)
        for layer in model.layers:
            parallelize_module(layer, grid["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        sharded(model, mesh=grid["replicate", "shard"])
        optimizer = torch.optim.AdamW(model.parameters())
        memory = Memory()
        memory.begin(model)
        for number in (1, 2):
            model(torch.zeros(2, 3, dtype=torch.int64)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            memory.end_of_step(number)
        memory.end()
        found, state = memory.profile(), sizes.state(plan_of(model))
    step = highest(found, "optimizer")
    assert (step.held.parameters, step.held.gradients, step.held.optimizer) == (
        state.parameters,
        state.gradients,
        state.optimizer,
    )
    assert not step.held.unsharded and not step.held.unsharded_gradients
    assert highest(found, "backward").where


@pytest.mark.slow
def test_the_sharding_of_operations_is_no_memory() -> None:
    """DTensor asks for the shapes of whole tensors when an optimizer steps for the first time."""
    profile, _ = trained(Stack, stack_step, fake=True, ranks=256, steps=1)
    assert highest(profile, "optimizer", 1).held.total < 4 * LAYERS * WEIGHT // 256 + WEIGHT


def test_it_looks_and_leaves_no_trace() -> None:
    places = [*adapter.gathering(), adapter.STORAGE, adapter.place("reduce"), adapter.place("post_backward")]
    before = [getattr(*each) for each in places if each is not None]
    losses = []
    for watched in (False, True):
        torch.manual_seed(0)
        with world(0, 1):
            model = sharded(Net())
            memory = Memory()
            if watched:
                memory.begin(model)
            model(torch.zeros(2, 3, dtype=torch.int64)).sum().backward()
            memory.end()
            losses.append([each.grad.to_local().clone() for each in model.parameters()])  # type: ignore[union-attr]
    assert all(torch.equal(*pair) for pair in zip(*losses, strict=True))
    assert [getattr(*each) for each in places if each is not None] == before


def test_nothing_seen() -> None:
    memory = Memory()
    memory.end()
    profile = memory.profile()
    assert not profile.samples and not profile.peak.held.total and Rehearsed(8, (0,), None, profile).watched is None


def test_it_keeps_no_tensor_alive() -> None:
    with world(0, RANKS):
        model = sharded(Net())
        memory = Memory()
        memory.begin(model)
        out = model(torch.zeros(2, 3, dtype=torch.int64))
        storage = weakref.ref(out.untyped_storage())
        out.sum().backward()
        shard = weakref.ref(next(model.parameters()).to_local().untyped_storage())  # type: ignore[attr-defined]
        del out
        assert storage() is None
        memory.end()
        del model
        gc.collect()
        assert shard() is None
        assert memory.profile().peak.held.total


def test_sharded_parameters_are_of_the_plan() -> None:
    """A step of an uneven plan: what is reserved for a shard is what the closed form says."""
    with world(7, 8):
        model = sharded(Net(width=5, vocabulary=11))
        memory = Memory()
        memory.begin(model)
        memory.end_of_step(1)
        found = memory.profile().peak.held.parameters
        assert found == sizes.state(plan_of(model)).parameters
        assert found > sum(each.to_local().nbytes for each in model.parameters() if isinstance(each, DTensor))
