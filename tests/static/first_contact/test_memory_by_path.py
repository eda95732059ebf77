"""A device that a setting chooses is one device on each path: where shards get their memory (FSDP208)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

RUN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("cpu:gloo,cuda:nccl")
torch.manual_seed(7)
with torch.device("meta"):
    model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device={device})
for p in model.parameters():
    nn.init.normal_(p)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(
    ("device", "verdict"),
    [
        ("'cpu'", "violated"),
        ("'cuda'", "upheld"),
        ("'cpu' if 'OFFLOAD' in os.environ else 'cuda'", "violated"),
        ("torch.device('cuda', 0) if 'FAST' in os.environ else 'cuda'", "upheld"),
        ("os.environ['DEVICE']", "unknown"),
        ("'cuda' if 'FAST' in os.environ else os.environ['DEVICE']", "unknown"),
    ],
)
def test_each_path_has_its_device(device: str, verdict: str) -> None:
    found = analyse(script(RUN.format(device=device)))
    assert verdict in found.verdicts("FSDP208") and ("FSDP208" in found.codes) is (verdict == "violated")


@pytest.mark.parametrize("device", ["'cuda'", "'cpu' if 'OFFLOAD' in os.environ else 'cuda'"])
def test_a_call_that_leaves_garbage_is_one_finding(device: str) -> None:
    lines = RUN.format(device=device).replace("    nn.init.normal_(p)\n", "    print(p.shape)\n")
    assert analyse(script(lines)).codes.count("FSDP201") == 1
