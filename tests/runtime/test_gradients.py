"""Gradients that are reduced otherwise than they should be, and what looks like it, in jobs of gloo ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.pages.harness import programs
from tests.runtime.jobs import run_program
from tests.runtime.shapes import HEAD, STEPS, expected

pytestmark = pytest.mark.torchrun
FACTOR = "    experts.set_gradient_divide_factor(float(mesh.size()))\n"


def the_page_with_experts() -> str:
    """The good program of FSDP616 that gives experts the number of all ranks."""
    page = Path(__file__).parents[2] / "rules/training/divide_factor_differs.md"
    found = [program.files["train.py"] for program in programs(page.read_text()) if "experts" in program.title]
    assert FACTOR in found[0]
    return found[0]


def told(program: str, folder: Path) -> list[tuple[str, int]]:
    script = folder / "train.py"
    script.write_text(program)
    job = run_program(script, folder / "report")
    assert job.report.steps >= 3, job.output()
    return [(each.code, each.primary.site.row) for each in job.findings if each.severity.value != "info"]


@pytest.mark.slow
def test_experts_that_divide_by_the_ranks_of_their_own_mesh(tmp_path: Path) -> None:
    program = the_page_with_experts().replace(FACTOR, "").replace('["expert_dp"])', '["expert_dp"])  # expect: FSDP616')
    assert told(program, tmp_path) == expected(program) != []


DIVIDING = {
    "a number that comes between two steps": """\
model = shard(Net())
model.set_force_sum_reduction_for_comms(True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    if step == 1:
        model.set_gradient_divide_factor(4.0)  # expect: FSDP616
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "sums that are forced on the root alone": """\
model = shard(Net())
model.set_force_sum_reduction_for_comms(True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
    + STEPS,
    "a number that is taken back": """\
model = shard(Net())
model.set_gradient_divide_factor(1.0)
model.set_gradient_divide_factor(2.0)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
    + STEPS,
}


@pytest.mark.parametrize("name", DIVIDING)
def test_numbers_that_groups_divide_by(name: str, tmp_path: Path) -> None:
    program = HEAD + DIVIDING[name] + "dist.destroy_process_group()\n"
    assert told(program, tmp_path) == expected(program)


WITHOUT = {
    "gradients that are not reduced come first": """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.set_requires_gradient_sync(False)  # expect: FSDP604
"""
    + STEPS,
    "an optimizer with gradients of its own": """\
class Kept(torch.optim.SGD):
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.to_local().data.sub_(kept[parameter], alpha=1e-3)


model = shard(Net())
kept = {}
optimizer = Kept(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    for parameter in model.parameters():
        kept[parameter], parameter.grad = parameter.grad.to_local(), None
    optimizer.step()
""",
    "a head that is used in its own steps": """\
class Two(Net):
    def __init__(self):
        super().__init__()
        self.other = nn.Linear(32, 64)

    def forward(self, tokens):
        x = self.embed(tokens)
        return (self.other if step == 2 else self.head)(x + sum(layer(x) for layer in self.layers))


model = shard(Two())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
    + STEPS,
    "a layer under no_grad": """\
class Half(Net):
    def forward(self, tokens):
        with torch.no_grad():
            x = self.layers[0](self.embed(tokens))
        return self.head(self.layers[1](x))


model = shard(Half())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # expect: FSDP620
"""
    + STEPS,
}


@pytest.mark.parametrize("name", WITHOUT)
def test_parameters_without_a_gradient(name: str, tmp_path: Path) -> None:
    program = HEAD + WITHOUT[name] + "dist.destroy_process_group()\n"
    assert told(program, tmp_path) == expected(program)


SUMMED = """\
def batches():
    for step in range(4):
        tokens = torch.randint(64, (4, 8), generator=torch.Generator().manual_seed(step * 2 + dist.get_rank()))
        targets = tokens.clone()
        targets[:, 4 - 2 * dist.get_rank() :] = -100
        yield tokens, targets.flatten()


def summed(tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets, reduction="sum"){mark}


model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
{before}for tokens, targets in batches():
    loss = summed(tokens, targets){divided}
    {backward}
{after}    optimizer.step()
    optimizer.zero_grad()
"""
PLAIN = {"mark": "", "before": "", "divided": "", "backward": "loss.backward()", "after": ""}
FACTORS = """\
for part in (*model.layers, model):
    part.set_force_sum_reduction_for_comms(True)
    part.set_gradient_divide_factor(32.0)
"""
SUMS = {
    "as it is": {"mark": "  # expect: FSDP810"},
    "divided afterwards": {"mark": "  # expect: FSDP810", "backward": "loss.backward(); loss = loss.detach() / 32"},
    "by the rows": {"divided": " / 4"},
    "clipped": {"after": "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"},
    "all gradients at once": {"after": "    torch._foreach_div_([p.grad for p in model.parameters()], 32.0)\n"},
    "gradients that are exchanged": {"after": "    for p in model.parameters():\n        p.grad = p.grad / 32\n"},
    "by the groups": {"before": FACTORS},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMS)
def test_sums_that_nothing_divides(name: str, tmp_path: Path) -> None:
    program = HEAD + SUMMED.format(**{**PLAIN, **SUMS[name]}) + "dist.destroy_process_group()\n"
    assert told(program, tmp_path) == expected(program)
