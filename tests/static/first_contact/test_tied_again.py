"""Weights that are made one parameter again between the sharding and the first forward."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from tests.static.program import script

PAIRED = """
class Paired(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 64)
        self.between = nn.Linear(64, 64)
        self.scores = nn.Linear(64, 100, bias=False)
        self.share()

    def share(self):
        self.scores.weight = self.words.weight

    def forward(self, x):
        return self.scores(self.between(self.words(x)))
"""
BODY = """
model = Paired()
fully_shard(model.words)
fully_shard(model.scores)
fully_shard(model)
{before}
model(torch.zeros(2, 8, dtype=torch.long)).sum().backward()
{after}
"""
AGAIN = (
    "model.share()",
    "model.scores.register_parameter('weight', model.words.weight)",
    "setattr(model.scores, 'weight', model.words.weight)",
    "model.words.weight = model.scores.weight",
    "for name, shared in os.environ['SHARED']:\n        model.get_submodule(name).register_parameter(name, shared)",
)
APART = ("pass", "model.scores.weight.data.copy_(model.words.weight)", "model.scores.weight = model.between.weight")


def codes(folder: Path, before: str = "pass", after: str = "pass", target: tuple[int, int] = (2, 5)) -> list[str]:
    program = script(BODY.format(before=before.replace("\n        ", "\n    "), after=after), PAIRED)
    (folder / "train.py").write_text(program)
    return [each.code for each in lint([str(folder)], Asked(select=["FSDP307"], target=target)).findings]


@pytest.mark.parametrize("again", AGAIN)
def test_an_older_torch_takes_it_up(tmp_path: Path, again: str) -> None:
    assert codes(tmp_path, again) == []


@pytest.mark.parametrize("apart", APART)
def test_what_ties_nothing_again_leaves_them_apart(tmp_path: Path, apart: str) -> None:
    assert codes(tmp_path, apart) == ["FSDP307"]


def test_after_the_first_forward_it_is_too_late(tmp_path: Path) -> None:
    assert codes(tmp_path, after="model.share()") == ["FSDP307"]


def test_a_newer_torch_refuses_it_all_the_same(tmp_path: Path) -> None:
    assert codes(tmp_path, "model.share()", target=(2, 13)) == ["FSDP307"]
