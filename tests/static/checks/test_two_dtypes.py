"""Groups of one model that compute in two dtypes: where these meet is told, and else nothing is promised."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

BEFORE = """
import yaml
from torch.distributed.fsdp import MixedPrecisionPolicy

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.layers = nn.ModuleList([Block() for _ in range(8)])
        self.norm = nn.LayerNorm(64)
        self.head = nn.Linear(64, 100)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return {out}
"""
MAIN = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
cfg = yaml.safe_load(open("run.yaml"))
low = MixedPrecisionPolicy(param_dtype={dtype})
model = Reader()
for layer in model.layers:
    fully_shard(layer, mp_policy=low)
fully_shard(model{root})
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""
STATED = "torch.bfloat16"
SWITCHED = 'torch.bfloat16 if cfg["bf16"] else None'
NAMED = 'getattr(torch, cfg["dtype"])'
FOLLOWED = ["self.head(x)", "self.head(self.norm(x))", "self.head(self.norm(x[:-1]))"]


def verdict(dtype: str, out: str, root: str = "") -> str:
    (word,) = analyse(script(MAIN.format(dtype=dtype, root=root), BEFORE.format(out=out))).verdicts("FSDP308")
    return word


@pytest.mark.parametrize("out", FOLLOWED)
@pytest.mark.parametrize("dtype", [STATED, SWITCHED])
def test_where_they_meet(dtype: str, out: str) -> None:
    assert verdict(dtype, out) == "violated"


@pytest.mark.parametrize("dtype", [STATED, SWITCHED, NAMED])
@pytest.mark.parametrize("out", FOLLOWED)
def test_one_policy_for_all(dtype: str, out: str) -> None:
    assert verdict(dtype, out, ", mp_policy=low") == "upheld"


@pytest.mark.parametrize(
    ("dtype", "out"),
    [(STATED, "self.head(torch.cat([x, x]) + 1)"), (STATED, "self.head(x.float())"), (NAMED, "self.head(x)")],
)
def test_what_was_not_followed_is_not_upheld(dtype: str, out: str) -> None:
    assert verdict(dtype, out) == "unknown"
