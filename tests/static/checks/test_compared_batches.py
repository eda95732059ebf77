"""FSDP405 of a part that runs for some batches only, and of ranks that compare beforehand what they have."""

from __future__ import annotations

import pytest

from tests.static.program import NET, analyse, script

MODEL = """
class Seeing(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = Net()
        self.text = Net()

    def forward(self, tokens, images):
        out = self.text(tokens)
        if not images:
            return out
        return out + self.tower(torch.stack(images))


def compare(images, op, other):
    flag = torch.tensor(1 if any(len(each) for each in images) else 0)
    least, most = flag.clone(), flag.clone()
    dist.all_reduce(least, op=op)
    dist.all_reduce(most, op=other)
    if least.item() != most.item():
        raise RuntimeError("some ranks have images, and some have none")
"""
MAIN = """
dist.init_process_group("gloo")
model = Seeing()
for part in (model.tower, model.text):
    for layer in part.layers:
        fully_shard(layer)
    fully_shard(part)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
data = torch.load("rows.pt")
sampler = torch.utils.data.DistributedSampler(data)
for row in torch.utils.data.DataLoader(data, sampler=sampler, collate_fn=list):
    {before}
    loss = model(row["tokens"], row["images"]).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
MIN_MAX = "compare(row['images'], dist.ReduceOp.MIN, dist.ReduceOp.MAX)"


@pytest.mark.parametrize(("before", "found"), [("pass", True), (MIN_MAX, False)])
def test_ranks_that_compare(before: str, found: bool) -> None:
    codes = analyse(script(MAIN.format(before=before), net=NET + MODEL)).codes
    assert ("FSDP405" in codes) is found
