"""The first rank looks for a checkpoint and tells the others: where there is none nothing is loaded (FSDP201)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

RUN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parser = argparse.ArgumentParser()
parser.add_argument("--fresh", dest="resume", action="store_false")
resume = parser.parse_args().resume
with torch.device("meta"):
    model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
if {fresh}:
    for p in model.parameters():
        nn.init.normal_(p)
found = agreed({sent}) if resume else None
if found:
    model.load_state_dict(torch.load(found), assign=False)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""
AGREED = """
import argparse

def latest(root):
    if not os.path.isdir(root):
        return None
    return os.path.join(root, "last")

def agreed(sent):
    box = [sent if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    return box[0]
"""


@pytest.mark.parametrize(
    ("fresh", "sent", "verdict"),
    [
        ("not resume", "latest('out')", "violated"),
        ("True", "latest('out')", "upheld"),
        ("not resume", "True", "unknown"),  # the first rank always says so
    ],
)
def test_a_first_run_that_is_to_resume_finds_nothing(fresh: str, sent: str, verdict: str) -> None:
    assert analyse(script(RUN.format(fresh=fresh, sent=sent), AGREED)).verdicts("FSDP201") == {verdict}
