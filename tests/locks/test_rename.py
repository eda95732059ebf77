"""Nothing is proved by spelling: a program under other names gets the same findings and the same verdicts.

Names of torch, Python and known packages keep their meaning, and so do strings: see :mod:`renaming`.
"""

from __future__ import annotations

import ast

import pytest

from tests.locks.programs import Program, Seen, analyse, daily, everything, name_of, sample
from tests.locks.renaming import file_of, in_words, renamed

MISLEADING = (
    "get_rank", "log_sched", "fsdp_optim", "save_main_process", "build_seed", "Load_model_head", "config_shard",
)  # fmt: skip


def neutral(number: int) -> str:
    return f"n{number}"


def misleading(number: int) -> str:
    return f"{MISLEADING[number % len(MISLEADING)]}_{number}"


Story = tuple[list[tuple[str, str, int]], list[tuple[str, list[tuple[str, str]]]]]
SHARE = 0.07
SAMPLE = sample(everything(), SHARE)
REST = [each for each in everything() if each not in SAMPLE]


def story(seen: Seen, names: dict[str, str]) -> Story:
    """Codes and their statements, and the words of each model; under the names that the program has by then."""
    places = [(each.code, each.primary.site) for each in seen.findings]
    found = sorted((code, file_of(name_of(site.path), names), site.row) for code, site in places)
    words = [
        (in_words(model.label, names), sorted((each.code, each.word) for each in model.rules)) for model in seen.models
    ]
    return found, sorted(words)


def stays(program: Program) -> None:
    before = analyse(program)
    for to in (neutral, misleading):
        files, names = renamed(program.files, to)
        assert story(analyse(program.with_files(files)), {}) == story(before, names)


@pytest.mark.parametrize("program", daily(everything(), SHARE), ids=str)
def test_names_decide_nothing(program: Program) -> None:
    stays(program)


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", REST, ids=str)
def test_names_decide_nothing_anywhere(program: Program) -> None:
    stays(program)


@pytest.mark.parametrize("program", sample(everything(), 0.03), ids=str)
def test_what_is_called_an_expert_is_at_most_unknown(program: Program) -> None:
    """Experts have a plan of their own: the one name that makes an answer unknown, and never more."""
    files, names = renamed(program.files, lambda number: f"expert_{number}")
    (found, words), (now_found, now_words) = (
        story(analyse(program), names),
        story(analyse(program.with_files(files)), {}),
    )
    assert set(now_found) <= set(found)
    for (label, before), (now_label, now) in zip(words, now_words, strict=True):
        assert now_label == label and [code for code, _ in now] == [code for code, _ in before]
        assert all(word in (was, "unknown") for (_, was), (_, word) in zip(before, now)), label


LIBRARY = """\
import torch
from mystery.kits import shuffle_rank as helper


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = torch.nn.Linear(width, width)

    def forward(self, x):
        return helper(self.trunk(x))


def build(width=8):
    return Net(width=width)
"""


def test_what_is_renamed() -> None:
    files, names = renamed({"nets/library.py": LIBRARY, "notes.txt": "Net"}, neutral)
    assert {"Net", "trunk", "width", "build", "helper", "mystery", "kits", "shuffle_rank", "nets"} <= names.keys()
    assert not names.keys() & {"torch", "nn", "Module", "Linear", "forward", "__init__", "self", "super"}
    (path,) = [path for path in files if path.endswith(".py")]
    assert path == f"{names['nets']}/{names['library']}.py"
    assert f"from {names['mystery']}.{names['kits']} import {names['shuffle_rank']} as {names['helper']}" in files[path]
    assert len(files[path].splitlines()) == len(LIBRARY.splitlines())


def test_what_somebody_looks_up_by_its_name_is_left_alone() -> None:
    text = "def train_one(rate):\n    pass\n\n\nglobals()['train_one'](rate=1)\nprint(f'{rate_of}')\nrate_of = 1\n"
    _, names = renamed({"train.py": text}, neutral)
    assert not names.keys() & {"train_one", "rate_of"}


@pytest.mark.slow
def test_most_names_of_most_programs_are_renamed() -> None:
    """Else the lock would hold nothing."""
    for program in SAMPLE:
        files, names = renamed(program.files, neutral)
        assert len(names) > 4, program
        for path, text in files.items():
            if path.endswith(".py"):
                ast.parse(text)
