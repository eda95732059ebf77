"""What is done to some parts of a model only is not done to the model."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

NET = """
class Piece(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, d)
        self.register_buffer("scale", torch.ones(d), persistent=False)

    def forward(self, x):
        return x + self.up(self.norm(x)) * self.scale.repeat(1)

class Small(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(100, d)
        self.blocks = nn.ModuleList([Piece(d) for _ in range(4)])

    def forward(self, x):
        x = self.emb(x)
        for block in self.blocks:
            x = block(x)
        return x

class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.inner(x) * self.gain

def linear_only(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight)

def each(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight)
    elif isinstance(module, nn.LayerNorm):
        module.reset_parameters()
"""
HOLLOW = """
with torch.device("meta"):
    model = Small()
before = model.state_dict()
for block in model.blocks:
    fully_shard(block)
fully_shard(model)
model.to_empty(device="cuda")
FILL
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8, dtype=torch.long, device="cuda")).sum().backward()
optimizer.step()
"""
LOAD = 'set_model_state_dict(model, torch.load("w.pt"), options=StateDictOptions(full_state_dict=True, strict={}))'
FILLS = {
    "some kinds": ("model.apply(linear_only)", "violated"),
    "all kinds": ("model.apply(each)", "upheld"),
    "by name": (
        "for name, one in model.named_parameters():\n    if 'norm' not in name:\n        nn.init.normal_(one)",
        "unknown",
    ),
    "every one": ("for one in model.parameters():\n    nn.init.normal_(one)", "upheld"),
    "either way": (
        "for one in model.parameters():\n    if one.dim() > 1:\n        nn.init.normal_(one)\n"
        "    else:\n        nn.init.zeros_(one)",
        "upheld",
    ),
    "not strict": ('model.load_state_dict(torch.load("w.pt"), strict=False)', "unknown"),
    "options": (LOAD.format(False), "unknown"),
    "strict options": (LOAD.format(True), "upheld"),
    "thrown away": ('dcp.load({"model": before}, checkpoint_id="w")', "violated"),
    "its own": ('state = model.state_dict()\ndcp.load({"model": state}, checkpoint_id="w")', "upheld"),
}
MORE = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import set_model_state_dict
"""


def hollow(fill: str, code: str) -> set[str]:
    return analyse(main(HOLLOW.replace("FILL", fill), MORE + NET)).verdicts(code)


@pytest.mark.parametrize(("fill", "word"), FILLS.values(), ids=FILLS)
def test_all_of_it_is_initialised(fill: str, word: str) -> None:
    assert hollow(fill, "FSDP201") == {word}


def test_a_method_that_returns_another_tensor_restores_no_buffer() -> None:
    fill = "model.apply(each)"
    assert hollow(fill, "FSDP204") == {"violated"}
    again = fill + "\nfor block in model.blocks:\n    block.scale.fill_(1)"
    assert "violated" not in hollow(again, "FSDP204")


def test_memory_that_only_some_models_get() -> None:
    body = HOLLOW.replace(
        'model.to_empty(device="cuda")',
        'if next(model.parameters()).device.type == "cpu":\n    model.to_empty(device="cuda")',
    )
    assert analyse(main(body.replace("FILL", ""), NET)).verdicts("FSDP202") == {"unknown"}
    assert hollow("model.apply(each)", "FSDP202") == {"upheld"}


SHARDED = """
model = Small()
for block in model.blocks:
    fully_shard(block, **given)
fully_shard(model, **given)
LATER
model.to("cuda")
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8, dtype=torch.long, device="cuda")).sum().backward()
optimizer.step()
"""


def sharded(code: str, *, given: str = "{}", later: str = "", first: str = "") -> set[str]:
    body = SHARDED.replace("LATER", later).replace("model = Small()", f"model = Small()\n{first}\ngiven = {given}")
    return analyse(main(body, NET)).verdicts(code)


@pytest.mark.parametrize(
    ("later", "word"),
    [
        ("model.blocks.append(Piece())", "violated"),
        ("model.blocks.append(fully_shard(Piece()))", "upheld"),
        ("model.blocks[0] = Around(model.blocks[0])", "unknown"),
        ("model.blocks[0].up = torch.compile(model.blocks[0].up)", "upheld"),
    ],
)
def test_what_is_put_into_a_list_or_around_a_part_comes_late(later: str, word: str) -> None:
    assert sharded("FSDP304", later=later) == {word}


@pytest.mark.parametrize(("kept", "word"), [("'norm' in name", "unknown"), ("not one.requires_grad", "upheld")])
def test_ignored_parameters_that_a_filter_chose(kept: str, word: str) -> None:
    first = f"model.emb.requires_grad_(False)\nkept = {{one for name, one in model.named_parameters() if {kept}}}"
    assert sharded("FSDP315", given='{"ignored_params": kept}', first=first) == {word}


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ('("dp", "tp")', "violated"),
        ('("dp", "cp")', "unknown"),
        ('("a", "cp")', "unknown"),
        ('("replicate", "shard")', "upheld"),
        ('("dp_replicate", "x")', "upheld"),
    ],
)
def test_what_the_dimensions_of_a_whole_mesh_are_for(names: str, word: str) -> None:
    first = f'mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names={names})'
    assert sharded("FSDP311", given='{"mesh": mesh}', first=first) == {word}


def test_a_sharded_module_has_its_switches() -> None:
    later = "for one in model.modules():\n    if hasattr(one, 'set_reshard_after_forward'):\n"
    assert sharded("FSDP312", later=later + "        one.set_reshard_after_forward(False)") == {"unknown"}
    assert sharded("FSDP312", later=later + "        one.set_reshard_after_forward(True)") == {"upheld"}


FILTERED = """
model = Small(1024)
for name, part in model.named_modules():
    if KEPT:
        fully_shard(part)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(
    ("kept", "word"),
    [
        ("name in os.environ['PARTS'].split(',')", "unknown"),
        ("part is not model and sum(one.numel() for one in part.parameters()) > 1e9", "unknown"),
        ("isinstance(part, Piece)", "upheld"),
        ("isinstance(part, Around)", "violated"),
    ],
)
def test_a_filter_that_may_let_nothing_through_shards_no_block(kept: str, word: str) -> None:
    net = NET.replace("range(4)", "range(16)")
    assert analyse(main(FILTERED.replace("KEPT", kept), net)).verdicts("FSDP301") == {word}
