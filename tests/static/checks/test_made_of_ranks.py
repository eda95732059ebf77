"""What is made of the number of a rank may be another value on each: nothing that asks for it is the same for all."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

PROGRAM = """
import hashlib
import json
import os
import pathlib

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank % 8)
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
data = torch.load("data.pt", map_location="cpu")


def roles():
    return {"0": "main"}


def step(batch):
    loss = model(batch.cuda()).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


"""
ASKED = [
    ('flag = "yn"[min(rank, 1)]', 'flag == "y"'),
    ('flag = ["y","n"][min(rank, 1)]', 'flag == "y"'),
    ('flag = ["y","n"][rank]', 'flag == "y"'),
    ('flag = "%d" % rank', 'flag == "0"'),
    ('flag = f"{rank}"', 'flag == "0"'),
    ("flag = str(rank)", 'flag == "0"'),
    ('flag = "{}".format(rank)', 'flag == "0"'),
    ('flag = "r" + str(rank)', 'flag == "r0"'),
    ('flag = "r" + str(rank)', 'flag.endswith("0")'),
    ("flag = str(rank).zfill(3)", 'flag == "000"'),
    ('flag = chr(ord("a") + rank)', 'flag == "a"'),
    ('flag = {0: "main"}.get(rank, "other")', 'flag == "main"'),
    ('flag = {0: "main"}.get(rank)', "flag"),
    ('flag = {"0": "main"}.get(str(rank))', "flag"),
    ('flag = roles().get(str(rank), "x")', 'flag == "main"'),
    ("flag = [True] + [False] * 7", "flag[rank]"),
    ("flag = [i == 0 for i in range(8)]", "flag[rank]"),
    ("flag = bool(rank)", "not flag"),
    ("flag = max(rank, 1)", "flag == 1"),
    ("flag = int(str(rank))", "flag == 0"),
    ("flag = torch.tensor(rank).item()", "flag == 0"),
    ("flag = torch.arange(8)[rank]", "flag == 0"),
    ("flag = hashlib.md5(str(rank).encode()).hexdigest()", 'flag[0] == "a"'),
    ('flag = os.path.exists(f"mark_{rank}")', "flag"),
    ('flag = pathlib.Path(f"mark_{rank}")', "flag.exists()"),
    ("flag = json.loads(str(rank))", "flag == 0"),
    ("flag = rank.bit_length()", "flag == 0"),
    ("flag = divmod(rank, 8)", "flag[0] == 0"),
    ("flag = rank in (0, 8)", "flag"),
    ("flag = any(rank == r for r in (0, 8))", "flag"),
    ("flag = set([0, 8]) & {rank}", "flag"),
    ('flag = "main" if rank == 0 else "other"', 'flag.startswith("m")'),
    ("flag = torch.cuda.current_device()", "flag == 0"),
    ("flag = os.uname().nodename", 'flag.endswith("0")'),
    ("flag = torch.distributed.get_node_local_rank()", "flag == 0"),
    ("flag = (lambda r: r * 2)(rank)", "flag < 2"),
    ("flag = list(range(rank))", "flag"),
    ("flag = [0] * rank", "not flag"),
    ("flag = range(rank, 100, 8)", "len(flag) > 12"),
    ('flag = "y" * rank', 'flag == ""'),
    ("flag = sorted([rank, 3])", "flag[0] == 3"),
    ('flag = dict(enumerate("abcd")).get(rank)', 'flag == "a"'),
    ("flag = round(rank / 8)", "flag == 0"),
    ("flag = rank and 5", "flag"),
    ("flag = os.getpid()", "flag % 2"),
    ("import uuid\nflag = uuid.uuid4().hex", 'flag[0] == "a"'),
    ("flag = [i for i in range(100) if i % 8 == rank]", "len(flag) > 12"),
    ('flag = "a-{}-b".format(rank).split("-")', 'flag[1] == "0"'),
    ('flag = pathlib.Path(f"x/{rank}.txt")', 'flag.stem == "0"'),
    ("flag = sum([rank])", "flag > 0"),
    ('flag = {"rank": rank}', 'flag["rank"] == 0'),
    ('flag = {"rank": rank}', 'flag.get("rank") == 0'),
    ('cfg = argparse_like = {"main": rank == 0}\nflag = cfg["main"]', "flag"),
    (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    r: int\n"
        "    @property\n    def main(self): return self.r == 0\nflag = C(rank)",
        "flag.main",
    ),
    (
        'class T:\n    def __init__(s): s.r = dist.get_rank()\n    def name(s): return f"w{s.r}"\nflag = T()',
        'flag.name() == "w0"',
    ),
    (
        'class T:\n    def __init__(s): s.r = dist.get_rank()\n    def ok(s): return s.name() in ("w0", "w8")\n'
        '    def name(s): return f"w{s.r}"\nflag = T()',
        "flag.ok()",
    ),
    ("flag = hash(str(rank)) % 2", "flag"),
    ("flag = (rank + 1) % 8", "flag == 0"),
    ("flag = 7 - rank", "flag == 0"),
    ("flag = rank // 8", "flag == 0"),
    ("flag = rank % 8 + 3", "flag == 3"),
    ("flag = rank & 1", "flag"),
    ("flag = rank ^ 1", "flag"),
    ("flag = -rank", "flag == 0"),
    ("flag = rank * 1.0", "flag < 0.5"),
    ('flag = f"{rank:02d}"', 'flag == "00"'),
    ('flag = f"{rank}/{dist.get_world_size()}"', 'flag.startswith("0/")'),
    ("flag = [1, 2, 3].index(rank + 1)", "flag == 0"),
    ('flag = "0123".find(str(rank))', "flag == 0"),
    ('flag = "01234567"[rank]', 'flag in "02"'),
    ('flag = dict(zip(range(8), "abcdefgh"))', 'flag[rank] == "a"'),
    ("flag = {i: i * 2 for i in range(8)}", "flag[rank] == 0"),
    ("flag = tuple(i for i in range(8))", "flag[rank] == 0"),
    ('table = [["a", 1], ["b", 2]]\nflag = table[rank][0]', 'flag == "a"'),
    ("flag = map(str, [rank])", '"0" in list(flag)'),
    ("flag = list(map(str, [rank]))", 'flag[0] == "0"'),
    ("flag = [str(r) for r in [rank]]", 'flag[0] == "0"'),
    ('flag = ",".join(str(r) for r in [rank, 1])', 'flag == "0,1"'),
    ('flag = getattr(dist, "get_rank")()', "flag == 0"),
    ("flag = {}\nflag[rank] = 1", "0 in flag"),
    ("flag = {}\nflag[rank] = 1", "flag.get(0)"),
    ("flag = set()\nflag.add(rank)", "0 in flag"),
    ("flag = []\nflag.append(rank)", "flag[0] == 0"),
    ("flag = []\nflag.append(rank)", "0 in flag"),
    ("flag = []\nif rank == 0: flag.append(1)", "flag"),
    ("flag = []\nif rank == 0: flag.append(1)", "len(flag) == 1"),
    ("flag = 0\nif rank == 0: flag = 1", "flag"),
    ("flag = 0\nif rank == 0: flag += 1", "flag > 0"),
    ("flag = 0\nfor _ in range(rank): flag += 1", "flag > 0"),
    ("flag = rank\nwhile flag > 8: flag -= 8", "flag == 0"),
    ('flag = None if rank else "x"', "flag is None"),
    ("flag = (rank == 0) is True", "flag"),
    ("flag = not rank", "flag"),
    ("flag = rank == dist.get_world_size() - 1", "flag"),
    ('flag = f"cuda:{rank}"', 'flag == "cuda:0"'),
]
ROUNDS = [
    "for i in range(rank): dist.barrier()",
    "for i in range(rank, 1000, world): step(data[i])",
    "for x in data[rank::world]: step(x)",
    "n = 0\nwhile n < rank + 5:\n    step(data[n]); n += 1",
    "chunks = torch.chunk(data, world)\nfor x in chunks[rank]: step(x)",
    'files = sorted(os.listdir("shards"))[rank::world]\nfor n in files: step(torch.load(n))',
    "mine = [i for i in range(1000) if i % world == rank]\nfor i in mine: step(data[i])",
]
SAME = [
    ("same = str(world)", 'same == "8"'),
    ('same = f"{world}/8"', 'same.startswith("8/")'),
    ('same = {"8": "all"}.get(str(world))', "same"),
    ('same = "abcdefgh"[world - 1]', 'same == "h"'),
]


def said(made: str) -> set[str]:
    return analyse(script(PROGRAM + made)).verdicts("FSDP801")


@pytest.mark.parametrize(("made", "asked"), ASKED)
def test_a_question_about_what_is_made_of_a_rank(made: str, asked: str) -> None:
    loop = f"for batch in data:\n    step(batch)\n    if {asked}:\n        dist.barrier()\n"
    assert "upheld" not in said(f"{made}\n{loop}")


@pytest.mark.parametrize("made", ROUNDS)
def test_a_loop_that_goes_round_by_the_number_of_a_rank(made: str) -> None:
    assert "upheld" not in said(f"{made}\n")


@pytest.mark.parametrize(("made", "asked"), SAME)
def test_what_is_made_of_the_number_of_all_ranks_is_the_same(made: str, asked: str) -> None:
    assert said(f"{made}\nfor batch in data:\n    step(batch)\n    if {asked}:\n        dist.barrier()\n") == {"upheld"}
