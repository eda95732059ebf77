"""A backend that a condition chooses is one backend on each path (FSDP105)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

RUN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
{choose}
dist.init_process_group(backend)
model = Net()
policy = CPUOffloadPolicy()
for layer in model.layers:
    fully_shard(layer, offload_policy=policy)
fully_shard(model, offload_policy=policy)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
"""
IMPORTS = "import sys\nfrom torch.distributed.fsdp import CPUOffloadPolicy\nBOTH = 'cpu:gloo,cuda:nccl'\n"


@pytest.mark.parametrize(
    ("choose", "verdict"),
    [
        ("backend = 'nccl'", "violated"),
        ("backend = BOTH", "upheld"),
        ("backend = None", "upheld"),
        ("backend = BOTH if len(sys.argv) > 1 else 'nccl'", "unknown"),
        ("backend = 'nccl' if len(sys.argv) > 1 else BOTH", "unknown"),
        ("backend = 'cuda:nccl' if len(sys.argv) > 1 else 'nccl'", "violated"),
        ("backend = sys.argv[1]", "unknown"),
    ],
)
def test_the_backend_of_each_path(choose: str, verdict: str) -> None:
    assert analyse(script(RUN.format(choose=choose), IMPORTS)).verdicts("FSDP105") == {verdict}
