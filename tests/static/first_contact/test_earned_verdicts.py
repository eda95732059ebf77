"""Upheld is earned: what was not seen, or was seen of one part or on one path alone, leaves a verdict open."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.static.frontend.pins import transformers_before_5
from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

TRAINED = "model(torch.ones(2, 8)).sum().backward()\n"
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters())\n"

# -- what code that was not seen stored

HOLDER = """
from diffusers import DiffusionPipeline

class Holder(DiffusionPipeline):
    def __init__(self, part):
        super().__init__()
        self.register_modules(net=part)
"""


@pytest.mark.parametrize("made", ["Holder(part).net", "DiffusionPipeline.from_pretrained('a', net=part).net"])
def test_a_path_may_be_what_went_in(made: str) -> None:
    body = f"part = Net().cuda()\nmodel = {made}\nfor layer in model.layers:\n    fully_shard(layer)\n"
    assert analyse(main(body + "fully_shard(model)\n" + TRAINED, HOLDER)).verdicts("FSDP206") == {"unknown"}


def test_what_the_program_stores_is_known() -> None:
    own = "class Holder:\n    def __init__(self, part):\n        self.net = part\n"
    body = "model = Holder(Net()).net\nfor layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
    assert analyse(main(body + TRAINED, own)).verdicts("FSDP206") == {"upheld"}


def test_ties_of_a_part_that_was_not_seen() -> None:
    body = "model = nn.Module()\nmodel.net = Holder(Net()).net\nfully_shard(model.net.head)\nfully_shard(model.net)\n"
    seen = analyse(main(body + OPTIMIZER + "model.net(torch.ones(2, 8)).sum().backward()\n", HOLDER))
    assert seen.verdicts("FSDP307") == {"unknown"}
    own = analyse(main(body.replace("Holder(Net()).net", "Net()"), HOLDER))
    assert own.verdicts("FSDP307") == {"upheld"}


# -- other weights than those that each rank drew

SEEDED = "torch.manual_seed(7 + dist.get_rank())\n"


def test_a_write_to_some_of_it() -> None:
    write = "for name, p in model.named_parameters():\n    if name.endswith('bias'):\n        nn.init.zeros_(p)\n"
    assert analyse(main(SEEDED + SHARDED + write + TRAINED)).verdicts("FSDP203") == {"unknown"}


@pytest.mark.parametrize(
    ("load", "verdict"),
    [
        ("if os.environ.get('OLD'):\n    model.load_state_dict(torch.load('old.pt'))\n", "violated"),
        ("if os.environ.get('OLD'):\n    dcp.load(model.state_dict(), checkpoint_id='old')\n", "violated"),
        ("if not os.environ.get('OLD'):\n    raise SystemExit('from what?')\nmodel.load_state_dict(old)\n", "upheld"),
        ("if theirs.fresh(model):\n    model.load_state_dict(torch.load('old.pt'))\n", "unknown"),
    ],
)
def test_a_run_that_loads_nothing_starts_with_what_each_rank_drew(load: str, verdict: str) -> None:
    imports = "import theirs\nimport torch.distributed.checkpoint as dcp\nold = torch.load('old.pt')\n"
    assert analyse(main(SEEDED + SHARDED + load + TRAINED, imports)).verdicts("FSDP203") == {verdict}


@pytest.mark.parametrize(
    ("seed", "own"),
    [
        ("seed = int(sys.argv[1])\nseed += dist.get_rank()\ntorch.manual_seed(seed)\n", True),
        ("rank = dist.get_rank()\ntorch.manual_seed(1000 * rank + 7)\n", True),
        ("def seed_all(seed):\n    torch.manual_seed(seed)\nseed_all(7 + dist.get_rank())\n", True),
        ("torch.manual_seed(seed=7 + dist.get_rank())\n", True),
        ("torch.manual_seed(7 + dist.get_rank() % 2)\n", False),
        ("torch.manual_seed(7 + dist.get_rank() - dist.get_rank())\n", False),
        ("torch.manual_seed(0 * dist.get_rank())\n", False),
        ("torch.manual_seed(7 + int(os.environ['LOCAL_RANK']))\n", False),
    ],
)
def test_a_seed_that_is_surely_another_one_on_each_rank(seed: str, own: bool) -> None:
    assert ("violated" in analyse(main(seed + SHARDED + TRAINED)).verdicts("FSDP203")) is own


@pytest.mark.parametrize(
    "write",
    [
        "nn.init.zeros_(model.head.bias)\n",
        "model.head.load_state_dict(torch.load('head.pt'))\n",
        "if os.environ.get('OLD'):\n    model.embed.load_state_dict(torch.load('old.pt'))\n",
    ],
)
def test_a_write_to_a_part_leaves_the_others_as_each_rank_drew_them(write: str) -> None:
    before = SHARDED.replace("model = Net()\n", "model = Net()\n" + write)
    assert analyse(main(SEEDED + before + TRAINED)).verdicts("FSDP203") == {"violated"}
    shared = SEEDED.replace("7 + dist.get_rank()", "7")
    assert analyse(main(shared + before + TRAINED)).verdicts("FSDP203") <= {"upheld"}


@pytest.mark.parametrize(
    "write",
    ["model.load_state_dict(torch.load('old.pt'))\n", "for p in model.parameters():\n    dist.broadcast(p, 0)\n"],
)
def test_a_write_to_all_of_it(write: str) -> None:
    before = SHARDED.replace("model = Net()\n", "model = Net()\n" + write)
    assert analyse(main(SEEDED + before + TRAINED)).verdicts("FSDP203") == {"upheld"}


# -- a device that is not known

LARGE = "model = nn.Sequential(*[nn.Linear(16384, 16384) for _ in range(4)])\n"
CUT = "for layer in model:\n    fully_shard(layer)\nfully_shard(model)\n"


@pytest.mark.parametrize(
    ("move", "verdict"),
    [
        ("model.to(torch.device(pick()))\n", "unknown"),
        ("model.to(os.environ['WHERE'])\n", "unknown"),
        ("model.to('cpu')\n", "upheld"),
        ("model.to(torch.float32)\n", "upheld"),
        ("model.to('cuda')\n", "violated"),
    ],
)
def test_a_move_to_a_device_that_is_not_known(move: str, verdict: str) -> None:
    known = analyse(main(LARGE + move + CUT + TRAINED, "from torch._utils import _get_device_index as pick\n"))
    assert known.verdicts("FSDP206") == {verdict}


# -- the dtype of a checkpoint

LOADED = "model = AutoModelForCausalLM.from_pretrained('a'GIVEN)\nfully_shard(model)\n"


@pytest.mark.parametrize(
    ("given", "verdict"),
    [("", "unknown"), (", **outside()", "unknown"), (", dtype=torch.float32", "upheld")],
)
def test_a_dtype_that_nobody_asks_for(given: str, verdict: str) -> None:
    body = LOADED.replace("GIVEN", given) + OPTIMIZER + TRAINED + "optimizer.step()\n"
    assert analyse(main(body)).verdicts("FSDP501") == {verdict}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("transformers==4.57.1\n", True),
        ("transformers[torch]>=4.40,<5\n", True),
        ("transformers~=4.51\n", True),
        ("transformers<=4.57\n", True),
        ("transformers>=4.40\n", False),
        ("transformers>=5\n", False),
        ("transformers<5.1\n", False),
        ("transformers\n", False),
        ("sentence-transformers<5\n", False),
    ],
)
def test_a_pin_below_five(tmp_path: Path, text: str, found: bool) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    assert transformers_before_5(str(tmp_path / "train.py"), tmp_path) is found


# -- parts that are converted

PARTS = """
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        return self.head(self.embed(x))
"""
HALF = """
model = nn.Module()
model.first = Two()
model.second = nn.Linear(8, 8)
FREEZE
model.first.to(torch.bfloat16)
fully_shard(model.first)
fully_shard(model)
"""


@pytest.mark.parametrize(
    ("freeze", "verdict"),
    [
        ("model.first.embed.requires_grad_(False)", "unknown"),
        ("if os.environ.get('F'):\n    model.first.requires_grad_(False)", "unknown"),
        ("model.first.requires_grad_(False)", "upheld"),
    ],
)
def test_one_freezing_is_not_all(freeze: str, verdict: str) -> None:
    body = HALF.replace("FREEZE", freeze) + OPTIMIZER + TRAINED + "optimizer.step()\n"
    assert analyse(main(body, PARTS)).verdicts("FSDP501") == {verdict}


# -- buffers that are computed again on one path

TABLE = """
class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)
        self.register_buffer("freqs", torch.arange(8.0), persistent=False)

    def forward(self, x):
        return self.head(x * self.freqs)
"""
ON_META = """
with torch.device("meta"):
    model = Table()
fully_shard(model)
model.to_empty(device="cuda")
model.head.reset_parameters()
FILL
"""


@pytest.mark.parametrize(
    ("fill", "verdict"),
    [
        ("if os.environ.get('ROTARY'):\n    model.freqs.copy_(torch.arange(8.0))", "violated"),
        ("if len(sys.argv) > 1:\n    model.freqs.copy_(torch.arange(8.0))", "unknown"),
        ("model.freqs.copy_(torch.arange(8.0))", "upheld"),
    ],
)
def test_buffers_restored_on_one_path(fill: str, verdict: str) -> None:
    assert analyse(main(ON_META.replace("FILL", fill) + TRAINED, TABLE)).verdicts("FSDP204") == {verdict}
