"""Small programs about what was once misunderstood, by its root: each root in several shapes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from .program import HEAD, NET, analyse, script

SETUP = """\
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
"""
SHARD = """\
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
"""
TRAIN = """\
for step in range(10):
    model(torch.ones(2, 8, dtype=torch.long, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def job(after: str = "", before: str = "", setup: str = SETUP, helpers: str = "") -> str:
    """A correct program with something before its model is sharded, and something behind its training."""
    return script(f"{setup}model = Net()\n{before}\n{SHARD}{TRAIN}{after}", helpers)


def codes(program: str | Mapping[str, str]) -> list[str]:
    return sorted(set(analyse(program).codes))


def test_the_frame_of_these_programs_is_clean() -> None:
    assert codes(job()) == []


# -- what an assert, or a refusal, excludes ---------------------------------------------------

ARGUMENTS = """
import argparse

def read():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--peek", action="store_true")
    return parser.parse_args()

def refuse(args):
    if not args.ddp and args.peek:
        raise ValueError("not supported")
"""
SHARDS_UNLESS = "if not args.ddp:\n    for layer in model.layers: fully_shard(layer)\n    fully_shard(model)\n"
PEEK = "if args.peek:\n    if dist.get_rank() == 0:\n        model(torch.ones(2, 8))\n"


@pytest.mark.parametrize(
    "refusal",
    [
        "if not args.ddp:\n    assert not args.peek",
        "if not args.ddp:\n    if args.peek:\n        raise ValueError",
        "if args.ddp:\n    print('ddp')\nelse:\n    assert not args.peek",
        "assert args.ddp or not args.peek",
        "refuse(args)",
    ],
)
def test_what_a_branch_or_a_call_refuses_is_refused_behind_it(refusal: str) -> None:
    main = f"args = read()\n{refusal}\n{SETUP}model = Net()\n{SHARDS_UNLESS}"
    main += f"optimizer = torch.optim.AdamW(model.parameters())\n{TRAIN}"
    assert "FSDP801" not in codes(script(main + PEEK, ARGUMENTS))
    assert "FSDP801" in codes(script((main + PEEK).replace(refusal, "pass"), ARGUMENTS))


# -- the other ranks' side --------------------------------------------------------------------

LONG = "def slow(x):\n    for y in range(3):\n"
LONG += "".join(f"        if x > {number}: x = x + {number}\n" for number in range(4000))


@pytest.mark.parametrize(
    ("other", "helpers"),
    [
        pytest.param("slow(1)", LONG + "    dist.barrier()\n", marks=pytest.mark.slow),
        ("wait()", "from mystery_lib import wait\n"),
        ("tools.wait()", "import mystery_lib\ntools = mystery_lib.Tools()\n"),
        ("table['wait']()", "import json\ntable = json.load(open('x'))\n"),
    ],
)
def test_what_was_not_followed_may_be_the_other_side(other: str, helpers: str) -> None:
    both = f"if dist.get_rank() == 0:\n    dist.barrier()\nelse:\n    {other}\n"
    assert "FSDP801" not in codes(job(both, helpers=helpers))
    assert "FSDP801" in codes(job(both.replace(other, "pass"), helpers=helpers))


HELPERS_OF_RANK_0 = [
    "def first():\n    try:\n        return dist.get_rank() == 0\n    except Exception:\n        return True\n",
    "def first():\n    try:\n        if dist.get_rank() == 0:\n            return True\n        return False\n"
    "    except RuntimeError:\n        return True\n",
    "def first():\n    rank = 0\n    try:\n        rank = dist.get_rank()\n    except ValueError:\n        pass\n"
    "    return rank == 0\n",
]


@pytest.mark.parametrize("helper", HELPERS_OF_RANK_0)
def test_a_question_for_the_rank_is_one_in_spite_of_its_handler(helper: str) -> None:
    assert "FSDP801" in codes(job("if first():\n    dist.barrier()\n", helpers=helper))
    assert "FSDP801" not in codes(job("if first():\n    print(1)\ndist.barrier()\n", helpers=helper))


RESUMES = """
class State:
    def __init__(self):
        self.at = 0

    def resume(self):
        if os.environ.get("FROM") is not None:
            if int(os.environ["WORLD_SIZE"]) > 1:
                self.at = share()
            elif dist.get_rank() == 0:
                self.at = torch.load("state.pt")["at"]

def share():
    found = torch.zeros(1)
    dist.broadcast(found, 0)
    return found.item()
"""


@pytest.mark.parametrize("ask", ["while state.at < 100:", "if state.at < 100:", "if not state.at >= 100:"])
def test_a_number_that_may_differ_by_rank_keeps_no_rank_out(ask: str) -> None:
    """That rank 0 alone reads it holds where there is one rank: not every run in which it is read is one of many."""
    main = f"{SETUP}state = State()\nstate.resume()\nmodel = Net()\n{SHARD}"
    main += f"{ask}\n    if state.at >= 100:\n        return\n"
    main += "    model(torch.ones(2, 8)).sum().backward()\n    optimizer.step()\n"
    assert "FSDP801" not in codes(script(main, RESUMES))


# -- what a tensor is -------------------------------------------------------------------------

PLAIN = [
    "def plain(t):\n    local = getattr(t, 'to_local', None)\n    return local() if callable(local) else t\n",
    "def plain(t):\n    local = getattr(t, 'to_local', None)\n    return local() if local else t\n",
    "def plain(t):\n    whole = getattr(t, 'full_tensor', None)\n    return t if whole is None else whole()\n",
]


@pytest.mark.parametrize("helper", PLAIN)
def test_a_method_that_is_looked_up_asks_what_the_tensor_is(helper: str) -> None:
    numbers = "print([plain(p).mean().item() for p in model.parameters()])\n"
    assert "FSDP603" not in codes(job(numbers, helpers=helper))
    assert "FSDP603" in codes(job(numbers.replace("plain(p)", "p"), helpers=helper))


def test_what_float_returns_is_a_number() -> None:
    read = "total = sum(p.norm() for p in model.parameters())\nvalue = float(total)\n"
    once = analyse(job(read)).codes
    assert analyse(job(read + "if value > 3: print(value)\nprint(float(value), int(value))\n")).codes == once


# -- sizes ------------------------------------------------------------------------------------

STACKS = [
    "self.layers = nn.ModuleList([Small() for _ in range(4)])",
    "self.layers = nn.ModuleList(Small() for _ in range(depth))",
    "self.layers = nn.ModuleList()\n        for _ in range(depth):\n            self.layers.append(Small())",
    "made = []\n        for x in range(4): made.append(Small())\n        self.layers = nn.ModuleList(made)",
]
WIDE = """
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(512, 2048, bias=False)
        self.down = nn.Linear(2048, 512, bias=False)

    def forward(self, x):
        return self.down(self.up(x))

class Stack(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        {layers}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


@pytest.mark.parametrize("layers", STACKS)
def test_a_known_number_of_layers_has_a_known_size(layers: str) -> None:
    helpers = WIDE.format(layers=layers)
    main = f"{SETUP}model = Stack().cuda()\n{SHARD}{TRAIN}"
    assert "FSDP206" not in codes(script(main, helpers))
    many = helpers.replace("range(4)", "range(400)").replace("depth=4", "depth=400")
    assert "FSDP206" in codes(script(main, many))


# -- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fill",
    [
        "if kind == 'one':\n    words['auto_wrap_policy'] = None",
        "if kind == 'one':\n    words.update(auto_wrap_policy=None)",
        "if kind != 'two':\n    words = {'auto_wrap_policy': None}",
    ],
)
def test_a_keyword_of_the_other_strategy_does_not_get_there(fill: str) -> None:
    main = f"{SETUP}kind = os.environ['KIND']\nmodel = Net()\nwords = {{}}\n{fill}\nif kind == 'two':\n"
    main += "    for layer in model.layers: fully_shard(layer)\n    fully_shard(model, **words)\n"
    main += f"optimizer = torch.optim.AdamW(model.parameters())\n{TRAIN}"
    assert "FSDP902" not in codes(script(main))
    assert "FSDP902" in codes(script(main.replace("kind == 'one'", "True").replace("kind != 'two'", "True")))


@pytest.mark.parametrize("backend", ["", "backend=None", "init_method='env://'"])
def test_a_group_without_the_name_of_a_backend_has_nccl_for_the_gpu(backend: str) -> None:
    assert codes(job(setup=f"dist.init_process_group({backend})\n")) == []
    assert codes(job(setup="dist.init_process_group('gloo')\n")) == ["FSDP101"]


# -- where ranks come from, and what is counted ------------------------------------------------

RANKS = [
    'rank: int = int(os.environ.setdefault("RANK", "0"))',
    'rank: int = dataclasses.field(default_factory=lambda: int(os.environ.setdefault("RANK", "0")))',
    'rank: int = dataclasses.field(default_factory=lambda: int(os.environ["RANK"]))',
]


@pytest.mark.parametrize("field", RANKS)
def test_a_rank_that_a_field_begins_with(field: str) -> None:
    helpers = f"import dataclasses\n\n@dataclasses.dataclass\nclass Place:\n    {field}\n"
    helpers += "    def is_first(self):\n        return self.rank == 0\n"
    place = "place = Place()\n"
    assert "FSDP801" in codes(job(f"{place}if place.is_first(): model(torch.ones(2))\n", helpers=helpers))
    wrong = f"{place}torch.cuda.set_device(place.rank)\ndist.init_process_group('nccl')\n"
    assert "FSDP102" in codes(job(setup=wrong, helpers=helpers))
    assert codes(job(place, helpers=helpers)) == []


TRAINER = """
class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer, self.done = net, optimizer, 0

    def step(self, x):
        self.net(x).sum().backward()
        if (self.done + 1) % 4 == 0:
            self.optimizer.step()
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optimizer.zero_grad()
        self.done += 1
"""


@pytest.mark.parametrize("reset", ["", "trainer.done = 0", "setattr(trainer, 'done', 0)"])
def test_a_counter_is_one_wherever_it_is_set_back(reset: str) -> None:
    main = f"{SETUP}model = Net()\n{SHARD}trainer = Trainer(model, optimizer)\n{reset}\n"
    main += "for x in range(10):\n    trainer.step(torch.ones(2, 8))\n"
    files = {"trainer.py": f"import torch\n{TRAINER}", "train.py": script(main, "from trainer import Trainer\n")}
    assert "FSDP612" in codes(files)


# -- what is followed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "narrowing",
    [
        "assert isinstance(blocks, nn.ModuleList)",
        "if not isinstance(blocks, nn.ModuleList):\n        raise TypeError",
        "assert isinstance(blocks, (nn.ModuleList, nn.ModuleDict))",
    ],
)
def test_an_assert_says_of_what_class_something_is(narrowing: str) -> None:
    text = f"{HEAD}\n\ndef shard(model):\n    blocks = model.blocks\n    {narrowing}\n"
    text += "    fully_shard(blocks)\n    fully_shard(model)\n"
    assert "FSDP306" in codes(text)
    assert "FSDP306" not in codes(text.replace("ModuleList", "Module").replace("ModuleDict", "Linear"))


@pytest.mark.parametrize(
    ("imports", "bar"),
    [
        ("from tqdm import tqdm", "tqdm(model.layers)"),
        ("import tqdm", "tqdm.tqdm(list(model.layers), desc='layers')"),
        ("from rich.progress import track", "track(model.layers)"),
    ],
)
def test_a_progress_bar_goes_through_what_it_is_given(imports: str, bar: str) -> None:
    main = f"{SETUP}model = Net()\nfully_shard(model)\nfor layer in {bar}:\n    fully_shard(layer)\n"
    main += f"optimizer = torch.optim.AdamW(model.parameters())\n{TRAIN}"
    assert codes(script(main, imports)) == ["FSDP302"]


PATHS = [
    "[f'layers.{i}' for i in range(4)]",
    "['layers.0', 'layers.1', 'layers.2']",
    "[f'layers.{i}' for i in range(len(model.layers))]",
]


@pytest.mark.parametrize("paths", PATHS)
def test_a_dotted_path_is_walked(paths: str) -> None:
    main = f"{SETUP}model = Net()\nfor path in {paths}:\n"
    main += "    fully_shard(functools.reduce(getattr, path.split('.'), model))\n"
    main += f"optimizer = torch.optim.AdamW(model.parameters())\n{TRAIN}"
    assert codes(script(main, "import functools\n")) == ["FSDP303"]


CONFIG = "from pkg.dst import enable\n\ndef setup(on=True):\n    if on:\n        enable()\n"
ENABLE = "import os, torch, torch.distributed as dist\n\ndef enable():\n"
ENABLE += "    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n    dist.init_process_group('nccl')\n"


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        CONFIG.replace("def setup(on=True)", "class Job:\n  pass\n\ndef setup(on=1)"),
        "from pkg import dst\n\nSTEPS = {'start': dst.enable}\n\ndef setup():\n    STEPS['start']()\n",
    ],
)
def test_a_file_that_does_not_say_torch_may_call_one_that_does(config: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/config.py": config, "pkg/dst.py": ENABLE}
    main = job(setup="setup()\n", helpers="from pkg.config import setup\n")
    assert codes({"train.py": main, **files}) == []
    assert codes({"train.py": main, **files, "pkg/dst.py": ENABLE.replace("    torch.cuda", "    str")}) == ["FSDP101"]


@pytest.mark.parametrize("script_at", ["scripts/train.py", "tools/deep/train.py", "pkg/train.py"])
def test_the_root_is_where_imports_begin_though_it_is_a_package(script_at: str) -> None:
    helper = "from torch.distributed.fsdp import fully_shard\n\ndef shard(model):\n    for layer in model.layers:\n"
    helper += "        fully_shard(layer)\n    fully_shard(model)\n"
    main = f"{SETUP}model = Net()\noptimizer = torch.optim.AdamW(model.parameters())\nshard(model)\n{TRAIN}"
    text = f"{HEAD}from pkg.par import shard\n\n{NET}\n\n{main}"
    files = {"__init__.py": "", "pkg/__init__.py": "", "pkg/par.py": helper, script_at: text}
    assert codes(files) == ["FSDP601"]


# -- a condition that was given up -------------------------------------------------------------


@pytest.mark.parametrize("number", [3, 60])
def test_a_condition_too_large_to_keep_makes_unknown_what_stands_under_it(number: int) -> None:
    """The file is loaded where none of the switches is on, and the first of them shards."""
    switches = " or ".join(f"os.environ.get('SWITCH_{each}') == '1'" for each in range(number))
    main = f"{SETUP}model = Net()\nif os.environ.get('SWITCH_0') == '1':\n    for layer in model.layers:\n"
    main += "        fully_shard(layer)\n    fully_shard(model)\nload(model)\n"
    main += f"optimizer = torch.optim.AdamW(model.parameters())\n{TRAIN}"
    helper = f"def load(model):\n    if {switches}:\n        return\n    model.load_state_dict(torch.load('x.pt'))\n"
    assert "FSDP705" not in codes(script(main, helper))
    assert ("FSDP705" in codes(script(main.replace("'SWITCH_0'", "'OTHER'"), helper))) is (number < 40)


def test_a_check_in_the_body_of_a_try_says_nothing_of_its_handlers() -> None:
    """A handler may have come out of the body before the check."""
    body = "args = argparse.ArgumentParser().parse_args()\nmodel = Net()\n"
    body += "try:\n    prepare()\n    assert args.late\nexcept ValueError:\n    pass\n"
    body += "if not args.late:\n    fully_shard(model)\n    fully_shard(model)\n"
    assert "FSDP305" in analyse(script(body, "import argparse\ndef prepare():\n    print('ready')\n")).codes


def test_a_question_whose_arguments_stand_elsewhere_breaks_nothing() -> None:
    body = "model = Net()\nfully_shard(model)\npair = [model, FSDP]\nif isinstance(*pair):\n    print('wrapped')\n"
    seen = analyse(script(body, "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"))
    assert not seen.result.broken


TIES = [
    "model.head.weight = model.embed.weight\nif args.whole:\n    fully_shard(model.head)\nelse:\n"
    "    fully_shard(model.embed)\n",
    "if args.whole:\n    for layer in model.layers:\n        fully_shard(layer)\nelse:\n"
    "    model.head.weight = model.embed.weight\n    fully_shard(model.head)\n",
    "if args.tied:\n    model.head.weight = model.embed.weight\nif args.whole:\n    fully_shard(model.head)\n",
]


@pytest.mark.parametrize("tie", TIES)
def test_tied_weights_under_two_ways_to_shard_are_not_upheld(tie: str) -> None:
    net = NET.replace("self.head = nn.Linear(64, 100)", "self.head = nn.Linear(64, 100, bias=False)")
    arguments = "import argparse\nargs = argparse.ArgumentParser().parse_args()\n"
    seen = analyse(script(f"{arguments}model = Net()\n{tie}fully_shard(model)\n", net=net))
    assert "upheld" not in seen.verdicts("FSDP307")
