"""FSDP501: what a model is cast to, where a policy that was made before says it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
from torch.distributed.fsdp import MixedPrecisionPolicy

POLICY = MixedPrecisionPolicy(GIVEN)
dist.init_process_group("nccl")
model = Net()
if POLICY.param_dtype is not None:
    model.to(POLICY.param_dtype)
for layer in model.layers:
    fully_shard(layer, mp_policy=POLICY)
fully_shard(model, mp_policy=POLICY)
optimizer = torch.optim.AdamW(model.parameters())
for batch in batches():
    model(batch).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ("param_dtype=torch.bfloat16, reduce_dtype=torch.float32", "violated"),
        ("torch.bfloat16, torch.float32", "violated"),
        ("reduce_dtype=torch.float32", "upheld"),
        ("**settings()", "unknown"),
    ],
)
def test_the_fields_of_a_policy_are_known(given: str, verdict: str) -> None:
    assert analyse(script(MAIN.replace("GIVEN", given))).verdicts("FSDP501") == {verdict}
