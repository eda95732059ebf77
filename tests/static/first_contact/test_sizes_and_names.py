"""How large a model is, what its class inherits, and names and settings that are not known."""

from __future__ import annotations

import textwrap

import pytest

from tests.static.first_contact.programs import IMPORTS, LAYERS, main
from tests.static.program import analyse, script

# -- how large, in how many processes, how much at once ----------------------------------


@pytest.mark.parametrize("first", ["Local(8, 8)", "Square(8)", "Square(width=8)"])
def test_the_size_of_a_class_derived_from_a_layer(first: str) -> None:
    body = f"""
model = Tiny({first}).to("cuda")
fully_shard(model)
"""
    assert "FSDP206" not in analyse(main(body, LAYERS)).codes
    for large in ("Square(40000)", "Square(int(sys.argv[1]))", "Local(40000, 40000)"):
        assert "FSDP206" in analyse(main(body.replace(first, large), LAYERS)).codes


# Parts of a model as the source writes their sizes: small with a width of 16, large with one of 100,000.
PARTS = (
    "nn.Linear(math.prod((1, 2, 2)) * 2, width)",
    "nn.Linear(max(width, 4), sum([width, width]))",
    "nn.Linear(2 ** math.ceil(math.log2(width)), round(width * 1.5))",
    "nn.Linear(width, width if len(sys.argv) > 3 else 2 * width)",
    "nn.Conv3d(3, width, (1, 2, 2))",
    "nn.LayerNorm((width, 4))",
    "nn.GRU(width, width, batch_first=True)",
    "nn.MultiheadAttention(width, 4)",
    "nn.Parameter(torch.randn(1, width, 6) * 0.02)",
    "nn.Parameter(torch.full((width, 2), 0.5))",
)


@pytest.mark.parametrize("part", PARTS)
def test_the_size_that_the_source_says(part: str) -> None:
    """One part that nobody can size would make the whole a model of unknown size."""
    helpers = f"""
import math


class Sized(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = {part}
        self.second = nn.Linear(width, width)

    def forward(self, x):
        return self.second(x)
"""
    body = """
model = Sized(16).to("cuda")
fully_shard(model.second)
fully_shard(model)
"""
    assert "FSDP206" not in analyse(main(body, helpers)).codes
    for large in ("100_000", "int(sys.argv[1])"):
        assert "FSDP206" in analyse(main(body.replace("16", large), helpers)).codes


def test_blocks_that_are_moved_together_are_all_counted() -> None:
    """The root is not sharded, so each block is a model of its own; the GPU holds all before the first is cut."""
    helpers = """
class Stack(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2048, 2048) for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
    body = """
model = Stack(8).to("cuda")
for layer in model.layers:
    fully_shard(layer)
"""
    assert analyse(main(body, helpers)).verdicts("FSDP206") == {"upheld"}
    for many in ("100", "int(sys.argv[1])"):
        assert "FSDP206" in analyse(main(body.replace("Stack(8)", f"Stack({many})"), helpers)).codes
    one_by_one = """
model = Stack(int(sys.argv[1]))
for layer in model.layers:
    layer.to("cuda")
    fully_shard(layer)
"""
    assert "FSDP206" not in analyse(main(one_by_one, helpers)).codes


@pytest.mark.parametrize("shape", ["repeat(100_000, 100_000)", "expand(-1, 100_000).tile(100_000)", "new_zeros(9)"])
def test_what_a_method_makes_of_a_tensor_is_of_unknown_size(shape: str) -> None:
    helpers = f"""
class Grown(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(8, 1).{shape})
        self.second = nn.Linear(8, 8)

    def forward(self, x):
        return self.second(x) + self.table
"""
    body = 'model = Grown().to("cuda")\nfully_shard(model.second)\nfully_shard(model)\n'
    assert "FSDP206" in analyse(main(body, helpers)).codes


@pytest.mark.parametrize("name", ["arithmetic", "calculation", "number"])
def test_a_part_that_is_called_like_a_number_is_a_part(name: str) -> None:
    """What a caller hands in may be a module, whatever its name is."""
    helpers = f"""
class Holds(nn.Module):
    def __init__(self, {name}):
        super().__init__()
        self.inner = {name}

    def forward(self, x):
        return self.inner(x)

def shard({name}):
    model = Holds({name})
    fully_shard(model)
    fully_shard(model.inner)
"""
    assert "FSDP302" in analyse(main("pass", helpers)).codes


def test_a_group_of_one_process_splits_nothing() -> None:
    def program(world: str) -> str:
        return script(
            """
            torch.cuda.set_device(0)
            begin(0, WORLD)
            model = nn.Sequential(*[nn.Linear(n, n) for n in map(int, sys.argv)]).to("cuda:0")
            for layer in model:
                fully_shard(layer)
            fully_shard(model)
            """.replace("WORLD", world),
            IMPORTS + 'def begin(rank, size):\n    dist.init_process_group("nccl", rank=rank, world_size=size)\n',
        )

    assert "FSDP206" not in analyse(program("1")).codes
    assert "FSDP206" in analyse(program("8")).codes
    assert "FSDP206" in analyse(program("int(sys.argv[1])")).codes


def test_one_block_at_a_time() -> None:
    body = """
model = AutoModel.from_pretrained(sys.argv[1])
for stack in [part for part in model.modules() if isinstance(part, nn.ModuleList)]:
    for block in stack:
        block.to("cuda")
        fully_shard(block)
fully_shard(model)
"""
    assert "FSDP206" not in analyse(main(body)).codes
    whole = body.replace('        block.to("cuda")\n', "").replace("argv[1])", 'argv[1]).to("cuda")')
    assert "FSDP206" in analyse(main(whole)).codes


# -- what a class inherits -----------------------------------------------------------------

INHERITED = """
with torch.device("meta"):
    model = nn.Sequential({kind}, {kind})
for layer in model:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
for layer in model:
    layer.reset_parameters()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(2, 8, device="cuda")).sum().backward()
optimizer.step()
"""
KINDS = (
    LAYERS
    + """
class Normed(nn.LayerNorm):
    pass

class Quiet(nn.Dropout):
    pass

class Own(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))
"""
)


@pytest.mark.parametrize("kind", ["Square(8)", "Local(8, 8)", "Normed(8)"])
def test_a_layer_hands_on_its_reset_parameters(kind: str) -> None:
    assert "FSDP207" not in analyse(main(INHERITED.format(kind=kind), KINDS)).codes


def test_a_module_has_none_to_hand_on() -> None:
    assert "FSDP207" in analyse(main(INHERITED.format(kind="Own(8)"), KINDS)).codes


ASKED = """
def latest(folder):
    found = [each for each in os.listdir(folder) if each.endswith(".pt")]
    return max(found) if found else None

def wants(layer):
    for parameter in layer.parameters():
        if parameter.is_meta:
            return True
    return False
"""


@pytest.mark.parametrize("asked", ["latest('runs') is None", "torch.cuda.is_available()", "os.path.exists('runs')"])
def test_what_knows_no_model_does_not_ask_for_the_method(asked: str) -> None:
    program = INHERITED.replace("    layer.reset", f"    if {asked}:\n        layer.reset")
    assert "FSDP207" in analyse(main(program.format(kind="Own(8)"), KINDS + ASKED)).codes


@pytest.mark.parametrize(
    "asked", ["wants(layer)", "any(p.is_meta for p in layer.parameters())", "layer in latest(model)"]
)
def test_what_asks_the_model_may_ask_for_the_method(asked: str) -> None:
    program = INHERITED.replace("    layer.reset", f"    if {asked}:\n        layer.reset")
    assert "FSDP207" not in analyse(main(program.format(kind="Own(8)"), KINDS + ASKED)).codes


# -- names and settings that are not known ---------------------------------------------------


@pytest.mark.parametrize("chosen", ['name in config["shard"]', 'name == config["part"]', 'name not in config["kept"]'])
def test_modules_that_names_in_a_file_choose(chosen: str) -> None:
    body = f"""
config = yaml.safe_load(open("plan.yaml"))
model = AutoModel.from_pretrained(config["path"])
for part in [module for name, module in model.named_modules() if {chosen}]:
    fully_shard(part)
fully_shard(model)
"""
    assert "FSDP302" not in analyse(main(body)).codes
    everything = body.replace(f" if {chosen}", "")
    assert "FSDP302" in analyse(main(everything)).codes


PLAN = """
@dataclass
class Plan:
    reshard: bool = {default}

def read():
    plan = Plan()
    for name, value in (yaml.safe_load(open("plan.yaml")) or {{}}).items():
        setattr(plan, name, value)
    return plan
"""
BY_PLAN = """
plan = read()
model = Net()
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=plan.reshard)
fully_shard(model, **{"reshard_after_forward": plan.reshard})
"""


@pytest.mark.parametrize("default", ["True", "False"])
def test_a_file_overrides_a_default(default: str) -> None:
    assert analyse(main(BY_PLAN, PLAN.format(default=default))).verdicts("FSDP312") == {"unknown"}


def test_a_default_that_nothing_overrides() -> None:
    kept = BY_PLAN.replace("read()", "Plan()")
    assert analyse(main(kept, PLAN.format(default="False"))).codes == ["FSDP312"]
    assert analyse(main(kept, PLAN.format(default="True"))).verdicts("FSDP312") == {"upheld"}


# -- sizes that the source says in a way that is not calculated here ------------------------

WIDTHS = (
    "width = {first}\nfor step in range(1, 3):\n    before = width\n    width = min(2 ** step, 8)\n"
    "    parts += [nn.Conv2d(64 * before, 64 * width, 4), nn.ReLU()]",
    "width = {first}\nfor factor in (1, 2, 4):\n"
    "    parts.append(nn.Conv2d(width, width * factor, 3))\n    width *= factor",
    "for factor in range(4):\n    parts.append(nn.Linear({first} * 2 ** factor, {first} * 2 ** (factor + 1)))",
)


@pytest.mark.parametrize("code", ["FSDP206", "FSDP301"])
@pytest.mark.parametrize("widths", WIDTHS)
def test_a_size_that_was_not_calculated_is_unknown(widths: str, code: str) -> None:
    """It is neither small nor large; one that a setting chooses may be large."""
    before = """
class Critic(nn.Module):
    def __init__(self, first=8):
        super().__init__()
        parts = []
{build}
        self.main = nn.Sequential(*parts)
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x):
        return self.main(x)
"""
    build = textwrap.indent(widths.replace("{first}", "first"), " " * 8)
    body = 'model = Critic().to("cuda")\nfully_shard(model)\n'
    assert code not in analyse(main(body, before.format(build=build))).codes
    chosen = body.replace("Critic()", "Critic(int(sys.argv[1]))")
    assert code in analyse(main(chosen, before.format(build=build))).codes


@pytest.mark.parametrize("row", [
    'ROWS[os.environ["SIZE"]]',
    'ROWS.get(os.environ.get("SIZE"), (4, 64))',
    '{"short": (2, 64), "long": (12, WIDE)}[sys.argv[1]]',
])  # fmt: skip
def test_sizes_out_of_a_table(row: str) -> None:
    """How often a loop runs is one of the numbers of the table, and never more than the largest."""
    helpers = """
WIDE = 768
ROWS = {"tiny": (2, 64), "small": (12, WIDE), "base": (24, 512)}

class Rows(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
"""
    body = f"""
depth, width = {row}
model = Rows(depth, width).cuda()
for layer in model.layers: fully_shard(layer)
fully_shard(model)
"""
    assert "FSDP206" not in analyse(main(body, helpers)).codes
    for large in ("100_000", "int(sys.argv[2])"):
        assert "FSDP206" in analyse(main(body, helpers.replace("768", large))).codes


SETTINGS = """
from dataclasses import dataclass


@dataclass
class Settings:
    width: int = 64
    heads: int = 4
    groups: int | None = None
    factor: float | None = None


class Layer(nn.Module):
    def __init__(self, number, given):
        super().__init__()
        self.number = number
        groups = given.heads if given.groups is None else given.groups
        hidden = int(2 * 4 * given.width / 3)
        if given.factor is not None:
            hidden = int(given.factor * hidden)
        self.key = nn.Linear(given.width, groups * (given.width // given.heads))
        self.up = nn.Linear(given.width, 256 * ((hidden + 255) // 256))

    def forward(self, x):
        return self.up(x).sum() + self.key(x)


class Deep(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.layers = nn.ModuleList()
        for number in range(2):
            self.layers.append(Layer(number, given))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Settings()", []),
        ("Settings(width=128, groups=2)", []),
        ("Settings(width=16_384)", ["FSDP206"]),
        ("Settings(width=int(os.environ['WIDTH']))", ["FSDP206"]),
        ("filled(Settings())", ["FSDP206"]),
    ],
)
def test_a_record_has_none_where_nothing_was_given(given: str, expected: list[str]) -> None:
    body = f"model = Deep({given}).to('cuda')\nfor layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
    codes = analyse(main(body, f"from somewhere import filled\n{SETTINGS}")).codes
    assert [code for code in codes if code == "FSDP206"] == expected
