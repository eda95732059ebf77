"""FSDP504 where a setting says in which dtype is computed, and whether the loss is scaled."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

POLICIES = """
import argparse
from torch.distributed.fsdp import MixedPrecisionPolicy

POLICIES = {
    "bf16": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
    "fp16": MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=torch.float32),
    "fp32": MixedPrecisionPolicy(),
}


def sharded(model, compute):
    policy = POLICIES[compute]
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    return fully_shard(model, mp_policy=policy)
"""
MAIN = """
parser = argparse.ArgumentParser()
parser.add_argument("--compute", choices=("bf16", "fp16", "fp32"), default="bf16")
parser.add_argument("--scale", action="store_true")
args = parser.parse_args()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = sharded(Net(), args.compute)
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda", enabled=ENABLED)
for batch in torch.load("batches.pt"):
    scaler.scale(model(batch).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("enabled", "verdict"),
    [
        ('args.compute == "fp16"', "upheld"),
        ('args.compute != "bf16"', "upheld"),
        ("False", "upheld"),
        ('args.compute != "fp32"', "violated"),
        ('args.compute in ("bf16", "fp16")', "violated"),
        ("True", "violated"),  # whoever asks for bf16 gets a scaler
        ("args.scale", "unknown"),
        ("wanted(args)", "unknown"),
    ],
)
def test_whether_runs_in_bf16_scale_their_loss(enabled: str, verdict: str) -> None:
    text = script(MAIN.replace("ENABLED", enabled), POLICIES + "from theirs import wanted\n")
    assert analyse(text).verdicts("FSDP504") == {verdict}
