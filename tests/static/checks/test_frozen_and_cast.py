"""FSDP501 where a part of the model is frozen: a cast of the whole reaches what is trained, whichever that is."""

from __future__ import annotations

import pytest

from tests.static.program import Analysis, analyse, script

BEFORE = """\
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


class Adapter(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def adapt(model):
    model.requires_grad_(False)
    found = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear)
    ]
    for parent, name, child in found:
        setattr(parent, name, Adapter(child))


def loaded():
    return AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float32)


"""
TRAINING = """
dist.init_process_group("gloo")
model = {made}
{before}
fully_shard(model)
{behind}
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-5)
{later}
for step in range(10):
    model(torch.randint(100, (2, 4))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
LOW = {
    "adapters of a loaded model": ("loaded()", "adapt(model)", "model.to(torch.bfloat16)"),
    "before it is sharded": ("loaded()", "adapt(model)\nmodel.bfloat16()", ""),
    "the head of a project's model": ("Net()", "model.layers.requires_grad_(False)", "model.to(torch.bfloat16)"),
    "all but the embedding": ("Net()", "model.half()\nmodel.embed.requires_grad_(False)", ""),
    "handed on": ("Net().bfloat16()", "for each in model.layers.parameters():\n    each.requires_grad_(False)", ""),
}
APART = {
    "adapters come later": ("loaded()", "model.to(torch.bfloat16)\nadapt(model)", ""),
    "adapters of a model of the project come later": ("Net()", "model.to(torch.bfloat16)\nadapt(model)", ""),
    "a head comes later": (
        "Net()",
        "model.to(torch.bfloat16)\nmodel.requires_grad_(False)\nmodel.head = nn.Linear(64, 100)",
        "",
    ),
    "peft puts them in": ("loaded()", "model.to(torch.bfloat16)\nmodel = get_peft_model(model, LoraConfig())", ""),
    "raised again": ("loaded()", "adapt(model)\nmodel.to(torch.bfloat16)\nmodel.float()", ""),
    "what is trained is raised again": (
        "Net()",
        "model.layers.requires_grad_(False)\nmodel.to(torch.bfloat16)\nmodel.head.float()\nmodel.embed.float()",
        "",
    ),
    "parameter by parameter": (
        "loaded()",
        "adapt(model)\nmodel.bfloat16()\n"
        "for each in model.parameters():\n    if each.requires_grad:\n        each.data = each.data.float()",
        "",
    ),
    "only what is frozen": ("Net()", "model.layers.requires_grad_(False)\nmodel.layers.bfloat16()", ""),
    "by a policy": ("loaded()", "adapt(model)", ""),
}


def said(made: str, before: str, behind: str, later: str = "") -> Analysis:
    return analyse(script(TRAINING.format(made=made, before=before, behind=behind, later=later), BEFORE))


@pytest.mark.parametrize("made, before, behind", LOW.values(), ids=LOW.keys())
def test_a_cast_of_all_of_it(made: str, before: str, behind: str) -> None:
    assert "FSDP501" in said(made, before, behind).codes


@pytest.mark.parametrize("made, before, behind", APART.values(), ids=APART.keys())
def test_what_is_trained_is_of_full_precision(made: str, before: str, behind: str) -> None:
    assert "FSDP501" not in said(made, before, behind).codes


def test_raised_before_the_first_step() -> None:
    assert "FSDP501" not in said("loaded()", "adapt(model)", "model.bfloat16()", "model.float()").codes


CHOSEN = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--bf16", action="store_true")
args = parser.parse_args()
dtype = torch.bfloat16 if args.bf16 else torch.float32
"""


@pytest.mark.parametrize(
    ("cast", "expected"),
    [
        ("model.to('cuda', dtype)", ["FSDP501"]),
        ("model.to(dtype=dtype)", ["FSDP501"]),
        ("model.to('cuda', dtype)\nmodel.float()", []),
        ("if not args.bf16:\n    model.to('cuda', dtype)", []),
    ],
)
def test_a_dtype_that_an_option_chooses(cast: str, expected: list[str]) -> None:
    body = (
        CHOSEN
        + "dist.init_process_group('nccl')\ntorch.cuda.set_device(int(os.environ['LOCAL_RANK']))\nmodel = Net()\n"
        + "for layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
        + cast
        + "\noptimizer = torch.optim.AdamW(model.parameters())\n"
        + "model(torch.ones(2, 8, dtype=torch.long)).sum().backward()\noptimizer.step()\n"
    )
    assert analyse(script(body)).codes == expected


LOADED = """
dist.init_process_group('nccl')
torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
model = AutoModelForCausalLM.from_pretrained("m", torch_dtype=torch.bfloat16).model
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
{cast}
"""


@pytest.mark.parametrize(
    "cast",
    ["model.norm(torch.ones(2)).float().sum().backward()", "model.features(torch.ones(2))[0].float().sum().backward()"],
)
def test_what_a_part_returns_is_no_weight(cast: str) -> None:
    """Its conversion says nothing of the weights, which are bfloat16 here."""
    seen = analyse(
        script(LOADED.format(cast=cast) + "optimizer.step()\n", "from transformers import AutoModelForCausalLM")
    )
    assert seen.verdicts("FSDP501") == {"violated"}


OFFERED = """
import argparse
from transformers import AutoModelForCausalLM
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def named(name):
    if name == "bfloat16":
        return torch.bfloat16
    return torch.float32


parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="DEFAULT")
args = parser.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
MODEL
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""
LIBRARY = "AutoModelForCausalLM.from_pretrained('gpt2', torch_dtype=DTYPES[args.dtype])"
LAYERS = "nn.Sequential(nn.Linear(8, 8, dtype=DTYPES[args.dtype]))"


@pytest.mark.parametrize(
    ("model", "default", "expected"),
    [
        ("Net().to(DTYPES[args.dtype])", "float32", "unknown"),
        ("Net().to(DTYPES[args.dtype])", "bfloat16", "violated"),
        ("Net().to(named(args.dtype))", "float32", "unknown"),
        (LIBRARY, "float32", "unknown"),
        (LIBRARY, "bfloat16", "violated"),
        (LAYERS, "float32", "unknown"),
        ("Net().to(DTYPES['bfloat16'])", "float32", "violated"),
    ],
)
def test_a_table_of_dtypes_is_no_fault(model: str, default: str, expected: str) -> None:
    body = OFFERED.replace("DEFAULT", default).replace("MODEL", f"model = {model}")
    assert analyse(script(body)).verdicts("FSDP501") == {expected}


FIELD = """
from dataclasses import dataclass
from unseen import overrides


@dataclass
class Settings:
    dtype: str = "DEFAULT"


args = Settings()
for name, value in overrides():
    setattr(args, name, value)
"""


@pytest.mark.parametrize(("default", "expected"), [("float32", "unknown"), ("bfloat16", "violated")])
def test_a_field_that_may_be_set_otherwise(default: str, expected: str) -> None:
    before, after = OFFERED.split("parser = ")[0], OFFERED.split("args = parser.parse_args()")[1]
    body = before + FIELD.replace("DEFAULT", default) + after.replace("MODEL", "model = Net().to(DTYPES[args.dtype])")
    assert analyse(script(body)).verdicts("FSDP501") == {expected}
