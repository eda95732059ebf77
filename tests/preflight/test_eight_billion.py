"""A decoder of 8 billion parameters: its peaks are those that torch's own tracker gave when it was measured apart."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from fsdp2_lint.preflight.plan import sizes
from fsdp2_lint.preflight.plan.memory import Memory
from fsdp2_lint.preflight.plan.reading import plan_of
from tests.preflight.fakes import mesh, world

pytestmark = pytest.mark.slow
GIB = 2**30
WIDTH, INNER, HEADS, GROUPS, VOCABULARY, LAYERS, LENGTH = 4096, 14336, 32, 8, 128256, 32, 8192


def linear(before: int, after: int) -> nn.Linear:
    return nn.Linear(before, after, bias=False)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.out = linear(WIDTH, WIDTH), linear(WIDTH, WIDTH)
        self.k, self.v = linear(WIDTH, WIDTH * GROUPS // HEADS), linear(WIDTH, WIDTH * GROUPS // HEADS)
        self.gate, self.up, self.down = linear(WIDTH, INNER), linear(WIDTH, INNER), linear(INNER, WIDTH)

    def heads(self, made: torch.Tensor) -> torch.Tensor:
        split = made.view(1, LENGTH, -1, WIDTH // HEADS).transpose(1, 2)
        return split.repeat_interleave(HEADS // split.size(1), 1) if split.size(1) < HEADS else split

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.first(x)
        q, k, v = (self.heads(each(normed)) for each in (self.q, self.k, self.v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        normed = self.second(x)
        result: torch.Tensor = x + self.down(F.silu(self.gate(normed)) * self.up(normed))
        return result


class Checkpointed(Block):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = checkpoint(super().forward, x, use_reentrant=False)
        return result


class Decoder(nn.Module):
    def __init__(self, block: type[Block]) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.RMSNorm(WIDTH)
        self.layers = nn.ModuleList(block() for _ in range(LAYERS))
        self.head = linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        result: torch.Tensor = self.head(self.norm(x))
        return result


@pytest.mark.parametrize(
    ("ranks", "block", "root_only", "peak"),
    [
        (64, Block, False, 71.45),
        (8, Checkpointed, False, 27.23),
        (64, Checkpointed, False, 17.41),
        (64, Checkpointed, True, 46.28),
        (1024, Checkpointed, False, 16.11),
    ],
)
def test_its_peak(ranks: int, block: type[Block], root_only: bool, peak: float) -> None:
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    with world(0, ranks):
        options = {"mesh": mesh(ranks), "mp_policy": policy}
        with torch.device("meta"):
            model = Decoder(block)
        for layer in () if root_only else model.layers:
            fully_shard(layer, **options)  # type: ignore[call-overload]
        fully_shard(model, **options)  # type: ignore[call-overload]
        plan = plan_of(model)
        with FakeTensorMode(allow_non_fake_inputs=True):
            model.to_empty(device="cpu")
            optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
            memory = Memory()
            memory.begin(model)
            for step in (1, 2):
                tokens = torch.zeros(1, LENGTH, dtype=torch.int64)
                F.cross_entropy(model(tokens).flatten(0, 1).float(), tokens.flatten()).backward()
                optimizer.step()
                optimizer.zero_grad()
                memory.end_of_step(step)
            memory.end()
    found = memory.profile().peak
    assert plan.numel == 8_030_261_248
    assert found.held.total / GIB == pytest.approx(peak, abs=0.01)
    state = sizes.state(plan)
    assert (found.held.parameters, found.held.optimizer) == (state.parameters, state.optimizer)
