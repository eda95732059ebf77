"""What a collective of the whole job leaves in a tensor is the same on all ranks, until each writes its own into it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """\
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


class Counting(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(1)
        start = torch.randint(9, (size, 1), generator=generator)
        self.tokens = (start + 2 * torch.arange(16)) % 9

    def __len__(self):
        return len(self.tokens)


def save(model):
    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id="last")


def any_rank(flag):
    found = torch.tensor(int(flag))
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return bool(found.item())


def evaluate(model, loader):
    total = torch.zeros(())
    with torch.no_grad():
        for x, y in loader:
            total += F.cross_entropy(model(x), y)
    REDUCE
    return total.item() / dist.get_world_size()
"""
TRAINING = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
scheduler = ReduceLROnPlateau(optimizer)
data = TensorDataset(torch.randn(64, 4), torch.randint(4, (64,)))
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
half = dist.new_group(list(range(dist.get_world_size() // 2)))
best = 1e9
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    AFTER
"""
REDUCE = "dist.all_reduce(total)"
FLAG = "flag = torch.tensor(loss.item())\n"


def verdict(code: str, after: str, reduce: str = REDUCE) -> set[str]:
    lines = after.replace("\n", "\n    ")
    return analyse(script(TRAINING.replace("AFTER", lines), IMPORTS.replace("REDUCE", reduce))).verdicts(code)


AGREED = {
    "a mean over all ranks": "shown = loss.detach()\ndist.all_reduce(shown)\nif shown.item() < best:\n    save(model)",
    "a flag of any rank": "if any_rank(loss.item() > 9):\n    save(model)",
    "what one rank sends": FLAG + "dist.broadcast(flag, 0)\nif flag.item() > 9:\n    save(model)",
    "an evaluation": "value = evaluate(model, loader)\nif value < best:\n    best = value\n    save(model)",
    "written alike": FLAG + "dist.all_reduce(flag)\nflag.div_(4)\nif flag > 1:\n    save(model)",
}
APART = {
    "of half of the ranks": FLAG + "dist.all_reduce(flag, group=half)\nif flag > 1:\n    save(model)",
    "one that looks the same": (
        "own = loss.detach().clone()\nshown = loss.detach().clone()\ndist.all_reduce(shown)\n"
        "if own.item() < best:\n    save(model)"
    ),
    "written apart again": (FLAG + "dist.all_reduce(flag)\nflag.fill_(loss.item())\nif flag > 1:\n    save(model)"),
    "an item written apart": (
        "flag = torch.zeros(2)\ndist.all_reduce(flag)\nflag[0] = loss.item()\nif flag[0] > 1:\n    save(model)"
    ),
    "reduced to one rank again": (FLAG + "dist.all_reduce(flag)\ndist.reduce(flag, 0)\nif flag > 1:\n    save(model)"),
    "in other hands": (
        "from elsewhere import refine\nflag = torch.tensor(loss.item())\ndist.all_reduce(flag)\nrefine(flag)\n"
        "if flag > 1:\n    save(model)"
    ),
    "the result of a functional collective": (
        FLAG + "mean = torch.distributed.nn.all_reduce(flag)\nif flag > 1:\n    save(model)"
    ),
    "on some paths": (FLAG + "if os.environ.get('AGREE'):\n    dist.all_reduce(flag)\nif flag > 1:\n    save(model)"),
}


@pytest.mark.parametrize("name", AGREED)
def test_all_ranks_decide_alike(name: str) -> None:
    assert verdict("FSDP801", AGREED[name]) == {"upheld"}


@pytest.mark.parametrize("name", APART)
def test_ranks_may_decide_for_themselves(name: str) -> None:
    assert "upheld" not in verdict("FSDP801", APART[name])


def test_each_rank_evaluates_for_itself() -> None:
    assert verdict("FSDP801", AGREED["an evaluation"], reduce="pass") == {"violated"}


@pytest.mark.parametrize(("reduce", "expected"), [(REDUCE, "upheld"), ("pass", "violated")])
def test_a_scheduler_is_given_what_was_reduced(reduce: str, expected: str) -> None:
    assert verdict("FSDP617", "scheduler.step(evaluate(model, loader))", reduce) == {expected}


@pytest.mark.parametrize(
    ("ranks", "guard", "upheld"),
    [
        ("[0, 1]", "dist.get_rank() in [0, 1]", True),
        ("ranks", "dist.get_rank() in ranks", True),
        ("ranks", "dist.get_rank() not in ranks", False),
        ("ranks", "dist.get_rank() in more", False),
        ("ranks", "dist.get_rank() in ranks and ranks.append(9) is None", False),
    ],
)
def test_the_ranks_of_a_group_come_together(ranks: str, guard: str, upheld: bool) -> None:
    body = (
        "ranks, more = list(range(dist.get_world_size() // 2)), list(range(dist.get_world_size()))\n"
        f"group = dist.new_group({ranks})\nif {guard}:\n    dist.barrier(group=group)"
    )
    assert ("upheld" in verdict("FSDP801", body)) is upheld


LENGTHS = {
    "of a loader": ("len(loader)", "upheld"),
    "of some epochs": ("3 * len(loader) // 2", "upheld"),
    "by a setting": ("len(loader) * int(os.environ['EPOCHS'])", "upheld"),
    "of the data": ("len(data)", "upheld"),
    "of data of its own class": ("len(DataLoader(Counting(64), batch_size=2))", "upheld"),
    "of data of its own class, by rank": ("len(DataLoader(Counting(64 + dist.get_rank()), batch_size=2))", "unknown"),
    "of data that nobody saw": ("len(torch.load('data.pt'))", "unknown"),
    "of batches of each rank's own size": ("len(DataLoader(data, batch_size=4 + dist.get_rank()))", "unknown"),
    "of each rank's own rows": (
        "len(DataLoader(TensorDataset(torch.ones(4 + dist.get_rank())), batch_size=2))",
        "unknown",
    ),
    "by a sampler that was not followed": ("len(DataLoader(data, sampler=torch.load('sampler.pt')))", "unknown"),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_how_many_batches_there_are(name: str) -> None:
    length, expected = LENGTHS[name]
    program = TRAINING.replace("scheduler = ReduceLROnPlateau(optimizer)\n", "").replace(
        "best = 1e9", f"warmup = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters={length})"
    )
    found = analyse(script(program.replace("AFTER", "warmup.step()"), IMPORTS)).verdicts("FSDP617")
    assert found == {expected}


DATA = """
import torch
from torch.utils.data import Dataset
from config import Shape


class Numbers(Dataset):
    def __init__(self, first, shape: Shape):
        self.rows = NUMBERS

    def __len__(self):
        return len(self.rows)
"""
CONFIG = "WHERE\n\n\nclass Shape:\n    length = 9\n"
ROWS = {
    "written out": ("torch.arange(64) % shape.length", "", "upheld"),
    "from where the rank says": ("torch.arange(first, 64)", "", "unknown"),
    "as many as the rank says": ("torch.randn(first, generator=torch.Generator().manual_seed(1))", "", "unknown"),
    "by a file of the project": (
        "torch.arange(mine(shape))",
        "import os\n\n\ndef mine(shape):\n    return int(os.environ['RANK']) + 9",
        "unknown",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_how_many_rows_a_data_set_of_another_file_has(name: str) -> None:
    """Its code names a class of the project, which is looked at as its own code is."""
    rows, where, expected = ROWS[name]
    data = DATA.replace("NUMBERS", rows)
    if where:
        data = data.replace("import Shape", "import Shape, mine")
    train = TRAINING.replace("scheduler = ReduceLROnPlateau(optimizer)\n", "from data import Numbers\n").replace(
        "best = 1e9",
        "import config\nrows = Numbers(dist.get_rank(), config.Shape())\n"
        "warmup = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=len(DataLoader(rows, batch_size=2)))",
    )
    files = {"data.py": data, "config.py": CONFIG.replace("WHERE", where)}
    program = analyse({"train.py": script(train.replace("AFTER", "warmup.step()"), IMPORTS), **files})
    assert program.verdicts("FSDP617") == {expected}


EARLY_STOPPING = """

class Control:
    stop: bool = False


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.strikes = patience, float("inf"), 0

    def look(self, control, loss):
        if loss < self.best:
            self.best, self.strikes = loss, 0
            return
        self.strikes += 1
        if self.strikes >= self.patience:
            control.stop = True


control, stopping = Control(), EarlyStopping(3)
"""


@pytest.mark.parametrize(("value", "expected"), [("loss.item()", "violated"), ("evaluate(model, loader)", "upheld")])
def test_a_flag_that_is_set_behind_an_early_return(value: str, expected: str) -> None:
    """It says what was asked before that return, too."""
    body = f"stopping.look(control, {value})\n    if control.stop:\n        break"
    text = script(TRAINING.replace("AFTER", body), IMPORTS.replace("REDUCE", REDUCE) + EARLY_STOPPING)
    assert analyse(text).verdicts("FSDP801") == {expected}


WAYS_OUT = {
    "another round": "continue",
    "the end of the loop": "break",
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_a_flag_that_is_set_behind_an_early_way_out_of_a_round(way: str) -> None:
    """Perhaps it is never set: what comes behind a test of it is reached."""
    after = f"if torch.isfinite(loss):\n        {WAYS_OUT[way]}\n    bad = True\nif bad:\n    sys.exit()\n"
    body = TRAINING.replace("for x, y", "bad = False\nfor x, y").replace("AFTER", after)
    found = analyse(script(f"{body}torch.save(model.state_dict(), 'last')\n", "import sys\n" + IMPORTS))
    assert "FSDP701" in found.codes


def test_what_one_rank_alone_gets_decides_apart() -> None:
    after = FLAG + "dist.reduce(flag, 0)\nif flag > 1:\n    save(model)"
    assert verdict("FSDP801", after) == {"violated"}


FILES = {
    "of one rank": ("if dist.get_rank() == 0:\n    torch.save(flag, 'x.pt')", "upheld"),
    "of each rank": ("torch.save(flag, f'x-{dist.get_rank()}.pt')", "upheld"),
    "with what each rank has": ("torch.save(flag, 'x.pt')", "unknown"),
    "with what all ranks have": ("dist.all_reduce(flag)\ntorch.save(flag, 'x.pt')", "upheld"),
}


@pytest.mark.parametrize("name", FILES)
def test_who_writes_what_into_one_file(name: str) -> None:
    lines, expected = FILES[name]
    assert verdict("FSDP714", FLAG + lines) == {expected}


def test_what_code_that_was_not_followed_filled_is_gone_through() -> None:
    """Nobody knows what is in it, so a collective in that loop is seen, and its order is not said to be right."""
    before = "import helper\nnames = set()\nhelper.fill(names)\n"
    rounds = "for name in names:\n    dist.all_reduce(torch.zeros(len(name)))\n"
    body = TRAINING.replace("AFTER", "pass") + before + rounds
    assert analyse(script(body, IMPORTS)).verdicts("FSDP806") == {"unknown"}
