"""After ``to_empty`` a model whose own ``reset_parameters`` leaves out its blocks trains garbage in these."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

NET = """
import math

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 64)
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        return self.up(self.norm(x))

    def reset_parameters(self):
        self.norm.reset_parameters()
        {layer}


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.layers = nn.ModuleList([Layer() for _ in range(4)])
        self.head = nn.Linear(64, 100)
        {tied}

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def reset_parameters(self):
        self.embed.reset_parameters()
        {whole}
"""
RUN = """
with torch.device("meta"):
    model = Whole()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
{init}
{more}
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(2, 3, dtype=torch.long, device="cuda")).sum().backward()
optimizer.step()
"""
LAYER = "self.up.reset_parameters()"
HEAD = "self.head.reset_parameters()"
EACH = "for layer in self.layers:\n            layer.reset_parameters()"


def named(
    whole: str, layer: str = LAYER, tied: str = "pass", init: str = "model.reset_parameters()", more: str = ""
) -> str:
    net = NET.replace("{whole}", whole).replace("{layer}", layer).replace("{tied}", tied)
    result = analyse(main(RUN.replace("{init}", init).replace("{more}", more), net)).result
    return " ".join(each.message for each in result.findings if each.code == "FSDP201")


FILTERED = """for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()"""
ALL = [
    (f"{HEAD}\n        {EACH}", LAYER),
    (f"{HEAD}\n        {EACH}", "nn.init.trunc_normal_(self.up.weight)"),
    (f"{HEAD}\n        {EACH}", "for weight in self.parameters():\n            nn.init.normal_(weight)"),
    (f"{HEAD}\n        {FILTERED}", LAYER),
    ("self.apply(start)", LAYER),
]


@pytest.mark.parametrize(("whole", "layer"), ALL)
def test_all_layers_are_written(whole: str, layer: str) -> None:
    start = "\n\ndef start(module):\n    if isinstance(module, nn.Linear):\n        nn.init.normal_(module.weight)\n"
    net = NET.replace("{whole}", whole).replace("{layer}", layer).replace("{tied}", "pass")
    result = analyse(main(RUN.replace("{init}", "model.reset_parameters()").replace("{more}", ""), net + start))
    assert "FSDP201" not in result.codes


def test_what_is_left_out_is_named() -> None:
    assert "Whole.layers[*].up " in named(HEAD)
    assert "Whole.head " in named(EACH)
    assert "Whole.layers[*].up " in named(f"{HEAD}\n        {EACH}", "pass")
    assert "Whole.layers[*].up " in named(HEAD, init="model.embed.reset_parameters()\nmodel.head.reset_parameters()")


def test_a_tied_weight_is_written_with_the_other() -> None:
    assert not named(EACH, tied="self.head.weight = self.embed.weight")


@pytest.mark.parametrize(
    "more",
    [
        'model.load_state_dict(torch.load("x"))',
        "elsewhere.fill(model)",
        "for part in choose(model):\n    part.reset_parameters()",
    ],
)
def test_what_else_may_write_them(more: str) -> None:
    assert not named(HEAD, more=f"import elsewhere\nfrom elsewhere import choose\n{more}")


def test_a_load_on_another_path_brings_nothing_here() -> None:
    assert "layers[*].up " in named(
        HEAD, more='if os.environ.get("RESUME"):\n    model.load_state_dict(torch.load("x"))'
    )


def test_a_layer_that_is_made_later_has_its_values() -> None:
    assert not named(EACH, more='model.head = nn.Linear(64, 100, device="cuda")')


def test_a_load_that_may_not_come_is_no_proof() -> None:
    """Whether the name of a machine decides it in all runs alike, nobody knows."""
    net = NET.replace("{whole}", HEAD).replace("{layer}", LAYER).replace("{tied}", "pass")
    more = 'if len(os.uname().nodename) > 3:\n    model.load_state_dict(torch.load("x"))'
    run = RUN.replace("{init}", "model.reset_parameters()")
    assert analyse(main(run.replace("{more}", more), net)).verdicts("FSDP201") == {"unknown"}
    always = more.replace("if len(os.uname().nodename) > 3:\n    ", "")
    assert analyse(main(run.replace("{more}", always), net)).verdicts("FSDP201") == {"upheld"}
