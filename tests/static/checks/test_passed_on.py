"""What is made of a rank's own batches is its own, through whatever it goes: each rank decides by it for itself."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """\
import json
import re
import statistics
from dataclasses import dataclass
import torch.distributed.checkpoint as dcp
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoTokenizer
import pkg

kept = []
tokenizer = AutoTokenizer.from_pretrained("gpt2")


@dataclass
class Sample:
    text: str


def large(values):
    found = []
    for value in values:
        if value > 3:
            found.append(value)
    return found


def boxed(text):
    start, out = text.rfind("boxed"), []
    if start < 0:
        return None
    for letter in text[start:]:
        if letter == "}":
            return "".join(out)
        out.append(letter)
    return None
"""
PROGRAM = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(pkg.data, sampler=DistributedSampler(pkg.data, shuffle=False))
good = 0.0
for batch in loader:
    output = model(batch)
    output.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    MADE
if good > 0.5:
    dcp.save({"model": model.state_dict()}, checkpoint_id="best")
"""
SURE = {
    "a text": 'text = f"{output.mean():.3f}"\ngood += 1 if text == "0.100" else 0',
    "letters": "good += sum(1 for t in [str(v) for v in output.tolist()] if t.startswith('1'))",
    "a pattern": 'good += float(re.search("1", str(output.mean().item())) is not None)',
    "a file's text": 'good += json.loads(json.dumps({"a": output.mean().item()}))["a"]',
    "the standard library": "good += statistics.mean(output.tolist())",
    "the length of a list of some": "good += len([v for v in output.tolist() if v > 3])",
    "a list that some were put into": "if large(output.tolist()):\n    good += 1",
    "a list that decides what it gets": (
        "if not kept:\n    kept.append(output.mean().item())\nif kept[0] > 3:\n    good += 1"
    ),
    "any of some": "good += any(v > 3 for v in output.tolist())",
    "a dict in a list": 'rows = [{"a": output.mean().item()}]\ngood += sum(row["a"] for row in rows)',
    "how many rounds a loop ran": "n = 0\nwhile output[n].item() > 3:\n    n += 1\ngood = n",
    "how many rounds came before a break": "for v in output.tolist():\n    if v > 3:\n        break\n    good += 1",
    "more than two arguments": "good += output.clamp(0, batch.low, batch.high).mean().item()",
}
DOUBTFUL = {
    "the texts of a tokenizer": "texts = tokenizer.batch_decode(output)\ngood += sum(float(t == 'x') for t in texts)",
    "how long such a text is": "texts = tokenizer.batch_decode(output)\ngood += len(texts[0])",
    "what a function finds in one": (
        "samples = [Sample(t) for t in tokenizer.batch_decode(output)]\n"
        "good += sum(float(boxed(s.text) is not None) for s in samples)"
    ),
    "by a keyword": "good += tokenizer.decode(ids=output) == 'x'",
    "what an unseen object keeps": "pkg.METER.update(output.mean())\ngood = pkg.METER.average",
    "a function of a package": "good += pkg.score(output)",
    "how large a batch is": "good += batch.shape[1]",
    "what stands at an index": "table = torch.zeros(8)\ngood += table[batch].mean()",
}
NEITHER = {
    "a count": "good += 1",
    "how long the loader is": "good += len(loader)",
    "which kind it has": "good += output.dtype == torch.bfloat16",
    "what others keep": "pkg.METER.update(output.mean())\ngood += 1",
}


def verdict(made: str) -> set[str]:
    return analyse(script(PROGRAM.replace("MADE", made.replace("\n", "\n    ")), IMPORTS)).verdicts("FSDP801")


@pytest.mark.parametrize("name", SURE)
def test_each_rank_decides_for_itself(name: str) -> None:
    assert "violated" in verdict(SURE[name])


@pytest.mark.parametrize("name", DOUBTFUL)
def test_whether_it_differs_is_not_known(name: str) -> None:
    assert "unknown" in verdict(DOUBTFUL[name])


@pytest.mark.parametrize("name", NEITHER)
def test_the_ranks_have_the_same(name: str) -> None:
    assert verdict(NEITHER[name]) == {"upheld"}
