"""The peak of a step, against the tracker that torch has for itself: another count, made another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from fsdp2_lint.preflight.plan.memory import Memory
from tests.preflight.fakes import mesh, world
from tests.preflight.test_memory import Decoder, decoder_step

BF16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


class Checkpointed(Decoder):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        result: torch.Tensor = self.head(x)
        return result


def peak(make: Callable[[], nn.Module], blocks: bool, options: dict[str, Any], ours: bool) -> int:
    """Of the second step: torch's tracker takes shapes that DTensor asks for in the first one for memory."""
    with world(0, 16):
        options = {"mesh": mesh(16), **options}
        with FakeTensorMode():
            model = make()
            for layer in model.layers if blocks else ():  # type: ignore[union-attr]
                fully_shard(layer, **options)
            fully_shard(model, **options)
            optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

            def step() -> None:
                decoder_step(model).backward()
                optimizer.step()
                optimizer.zero_grad()

            step()
            if not ours:
                tracker = FSDPMemTracker(model, optimizer)
                with tracker:
                    step()
                return int(tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"])
            memory = Memory()
            memory.begin(model, [optimizer])
            step()
            memory.end_of_step(1)
            memory.end()
            return memory.profile().peak.held.total


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("make", "blocks", "options"),
    [
        (Decoder, True, {}),
        (Decoder, True, {"mp_policy": BF16}),
        (Decoder, False, {}),
        (Decoder, True, {"reshard_after_forward": False}),
        (Checkpointed, True, {"mp_policy": BF16}),
    ],
    ids=["by block", "low precision", "root only", "no reshard", "checkpointed"],
)
def test_the_peak_of_a_step(make: Callable[[], nn.Module], blocks: bool, options: dict[str, Any]) -> None:
    assert peak(make, blocks, options, ours=True) == pytest.approx(peak(make, blocks, options, ours=False), rel=1e-3)
