"""FSDP801 where each rank decides by what it alone has; silence where the ranks agree, and *unknown* where they may."""

from __future__ import annotations

import pytest

from tests.static.program import Analysis, analyse, script

IMPORTS = """\
import math
import random
import signal
import sys
import threading
import time
import numpy as np
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from tqdm import tqdm


stop = False


def on_signal(number, frame):
    global stop
    stop = True


def save(model):
    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id="last")


def average(value):
    shown = value.detach().clone()
    dist.all_reduce(shown)
    return shown / dist.get_world_size()


"""
SETUP = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
data = TensorDataset(torch.randn(64, 4), torch.randint(4, (64,)))
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
best = 1e9
start = time.time()
signal.signal(signal.SIGTERM, on_signal)
"""
STEP = """
for x, y in {loader}:
    loss = F.cross_entropy(model(x), y)
    {before}
    loss.backward()
    {after}
"""


def said(text: str) -> Analysis:
    return analyse(script(SETUP + text, IMPORTS))


def loop(before: str = "pass", after: str = "pass", loader: str = "loader") -> Analysis:
    def lines(part: str) -> str:
        return part.replace("\n", "\n    ")

    return said(STEP.format(before=lines(before), after=lines(after), loader=loader))


BEFORE_BACKWARD = {
    "a loss that is no number": "if not torch.isfinite(loss):\n    continue",
    "its number": "if math.isnan(loss.item()):\n    continue",
    "a large loss": "if loss.item() > 100:\n    continue",
    "the labels of this batch": "if y.sum().item() == 0:\n    continue",
    "a flag that it sets": "bad = torch.zeros(())\nif torch.isnan(loss):\n    bad += 1\nif bad > 0:\n    continue",
    "in numpy": "if np.isnan(loss.detach().numpy()):\n    continue",
}
AFTER_BACKWARD = {
    "the clock": "if time.time() - start > 60:\n    save(model)",
    "the clock, kept": "late = time.time() - start > 60\nif late:\n    save(model)",
    "the clock leaves the loop": "if time.time() - start > 60:\n    break",
    "the flag of a signal": "if stop:\n    save(model)",
    "the flag leaves the loop": "if stop:\n    break",
    "a draw": "if random.random() < 0.1:\n    save(model)",
    "the best loss": "if loss.item() < best:\n    best = loss.item()\n    save(model)",
    "a package looks at the model": "import helper_lib\nhelper_lib.watch(model)\nif loss < best:\n    save(model)",
    "reduced for the log, afterwards": "if loss.item() < best:\n    save(model)\nprint(average(loss).item())",
    "a file of this node": "if os.path.exists('/tmp/stop'):\n    save(model)",
    "a file of this rank": "if os.path.isfile(f'stop.{dist.get_rank()}'):\n    save(model)",
    "another save under the next choice": "if stop:\n    save(model)\nelif time.time() - start > 60:\n    save(model)",
}


@pytest.mark.parametrize("name", BEFORE_BACKWARD)
def test_some_ranks_skip_the_backward(name: str) -> None:
    assert "FSDP801" in loop(before=BEFORE_BACKWARD[name]).codes


@pytest.mark.parametrize("name", AFTER_BACKWARD)
def test_some_ranks_do_more_or_stop(name: str) -> None:
    assert "FSDP801" in loop(after=AFTER_BACKWARD[name]).codes


def test_through_a_progress_bar_and_a_mean() -> None:
    text = """
losses = []
for x, y in tqdm(loader):
    losses.append(F.cross_entropy(model(x), y).item())
if sum(losses) / len(losses) < best:
    save(model)
"""
    assert "FSDP801" in said(text).codes


def test_a_loop_as_long_as_the_clock_says() -> None:
    assert "FSDP801" in said("while time.time() - start < 60:\n    model(data[0][0]).sum().backward()\n").codes


def test_each_condition_is_told_once() -> None:
    two = "if stop:\n    save(model)\nif time.time() - start > 60:\n    save(model)"
    assert loop(after=two).codes.count("FSDP801") == 2


AGREED = {
    "a flag that is set where the loss says so": (
        "bad = torch.zeros(())\nif torch.isnan(loss):\n    bad += 1\ndist.all_reduce(bad)\nif bad > 0:\n    save(model)"
    ),
    "a tensor that the loss chooses": (
        "bad = torch.ones(()) if loss.item() > 9 else torch.zeros(())\ndist.all_reduce(bad)\n"
        "if bad > 0:\n    save(model)"
    ),
    "reduced first": "if average(loss).item() < best:\n    save(model)",
    "reduced in place": "shown = loss.detach()\ndist.all_reduce(shown)\nif shown.item() < best:\n    save(model)",
    "reduced itself": "dist.all_reduce(loss)\nif loss.item() < best:\n    save(model)",
    "broadcast itself": "dist.broadcast(loss, src=0)\nif loss < best:\n    save(model)",
    "reduced by a package": "import helper_lib\nhelper_lib.reduce(loss)\nif loss.item() < best:\n    save(model)",
    "gathered": (
        "found = [None, None]\ndist.all_gather_object(found, loss.item())\nif sum(found) < best:\n    save(model)"
    ),
    "gathered into tensors": (
        "found = [torch.zeros_like(loss) for _ in range(2)]\ndist.all_gather(found, loss)\n"
        "if torch.stack(found).mean() < best:\n    save(model)"
    ),
    "the clock of rank 0": (
        "now = torch.tensor(time.time() - start)\ndist.broadcast(now, src=0)\nif now.item() > 60:\n    save(model)"
    ),
    "the flag of any rank": (
        "flag = torch.tensor(int(stop))\ndist.all_reduce(flag, op=dist.ReduceOp.MAX)\nif flag.item():\n    save(model)"
    ),
    "the flag of rank 0": "flags = [stop]\ndist.broadcast_object_list(flags, src=0)\nif flags[0]:\n    break",
    "one seed": "random.seed(0)\nif random.random() < 0.1:\n    save(model)",
    "torch without a seed": "if torch.rand(1).item() < 0.1:\n    save(model)",
    "counted": "if len(loader) > 3 and best > 2:\n    save(model)",
    "only printed": "if time.time() - start > 60 or loss.item() > 9:\n    print(loss.item())",
    "ends the job": "if not torch.isfinite(loss):\n    raise RuntimeError('no number')\nsave(model)",
    "leaves the process": "if not torch.isfinite(loss):\n    sys.exit(1)\nsave(model)",
    "asserted": "assert torch.isfinite(loss)\nsave(model)",
    "the size of the batch": "if x.shape[0] < 8:\n    continue\nif x.size(0) == 8 and x.numel() > 3:\n    save(model)",
    "both ways": "if loss.item() < best:\n    save(model)\nelse:\n    save(model)",
    "the norm of all": (
        "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nif not torch.isfinite(norm):\n    continue\n"
        "save(model)"
    ),
    "a file that all may see": "if os.path.exists('last'):\n    save(model)",
    "the metric of a package": (
        "import torchmetrics\nmetric = torchmetrics.MeanMetric()\nmetric.update(loss)\n"
        "if metric.compute() < best:\n    save(model)"
    ),
    "a batch that was kept": "kept = next(iter(loader), None)\nif kept:\n    save(model)",
    "gathered by a package": "import helper_lib\nif helper_lib.mean(loss).item() < best:\n    save(model)",
}


@pytest.mark.parametrize("name", AGREED)
def test_the_ranks_agree_or_may(name: str) -> None:
    assert "FSDP801" not in loop(after=AGREED[name]).codes


SAME_BATCHES = {
    "without a sampler": "DataLoader(data, batch_size=8)",
    "with one for a single rank": "DataLoader(data, batch_size=8, sampler=DistributedSampler(data, 1, 0))",
    "with one that was not followed": "DataLoader(data, batch_size=8, sampler=torch.load('sampler.pt'))",
}


@pytest.mark.parametrize("name", SAME_BATCHES)
def test_batches_that_the_ranks_may_share(name: str) -> None:
    skips = BEFORE_BACKWARD["a large loss"]
    assert "FSDP801" not in loop(before=skips, loader=SAME_BATCHES[name]).codes


def test_what_may_be_agreed_is_not_upheld() -> None:
    assert loop(after=AGREED["a file that all may see"]).verdicts("FSDP801") == {"unknown"}


ENDS = {"break": "break", "return": "return"}


@pytest.mark.parametrize("leaves", ENDS)
def test_a_loop_that_unseen_batches_may_end(leaves: str) -> None:
    """Nobody saw whether the ranks read the same, so nobody knows whether they leave together."""
    loader = "helper_lib.batches()"
    unseen = STEP.format(loader=loader, before="pass", after=f"if loss.item() > 9:\n        {ENDS[leaves]}")
    counted = unseen.replace("loss.item() > 9", "len(seen) > 9").replace("for x", "seen = []\nfor x", 1)
    assert said("import helper_lib\n" + unseen).verdicts("FSDP801") == {"unknown"}
    assert said("import helper_lib\n" + counted).verdicts("FSDP801") == {"upheld"}
