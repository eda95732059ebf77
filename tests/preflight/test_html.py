"""The page stands alone, says what the other formats say, and takes no name for markup."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.preflight.page import html, pictures
from fsdp2_lint.preflight.page import json as as_json
from fsdp2_lint.preflight.plan import sizes
from fsdp2_lint.preflight.plan.codec import from_json
from fsdp2_lint.preflight.plan.shape import (
    Held,
    Limit,
    MemoryProfile,
    MeshShape,
    PlannedGroup,
    PlannedParam,
    Rehearsal,
    Rehearsed,
    Sample,
)
from fsdp2_lint.preflight.plan.what_if import alternatives
from fsdp2_lint.vocab.finding import Site
from tests import fake
from tests.preflight.test_page import planned

ROOT = Path(__file__).parents[2]


def sample(step: int, phase: str, activations: int) -> Sample:
    return Sample(step, phase, "layers.0", Held(parameters=2**20, activations=activations))


STEPS = tuple(
    sample(step, phase, size * 2**20)
    for step in (1, 2)
    for phase, size in (("forward", 1), ("forward", step), ("backward", 3 * step), ("optimizer", 0))
)


@pytest.fixture(scope="module")
def rehearsal() -> Rehearsal:
    memory = MemoryProfile(STEPS, STEPS[6], 2, 0)
    found = [Rehearsed(size, (0, size - 1), plan, memory, alternatives(plan, 4)) for size in (8, 64)
             if (plan := planned(size))]  # fmt: skip
    return Rehearsal(
        "train.py",
        ("--lr", "1"),
        "step",
        (*found, Rehearsed(2, (0,), None)),
        (fake.finding(fake.site("/jobs/train.py", 33)),),
        (Limit("torch.compile was left out", Site("/jobs/train.py", 12)),),
    )


@pytest.fixture(scope="module")
def page(rehearsal: Rehearsal) -> str:
    return html.render(rehearsal)


def svgs(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


class Balance(HTMLParser):
    """Which elements are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_stands_alone(page: str) -> None:
    parser = Balance()
    parser.feed(page)
    assert not parser.open
    assert not {"script", "link", "img", "iframe", "object"} & set(parser.seen)
    assert not re.search(r"(src|href)=\"(?!#)", page) and "@import" not in page
    assert set(re.findall(r"https?://[^\"' ]*", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_its_pictures(page: str) -> None:
    texts = ["".join(picture.itertext()) for picture in svgs(page)]
    assert len(texts) == 1 + 2 * 3  # by size; then shards, memory and other plans of two sizes
    assert "peak of a step" in texts[0] and "1,024" not in texts[0] and "256" in texts[0]
    assert "layers.0 to layers.2 (3)" in texts[1]
    assert "7.00 MiB" in texts[2] and "activations" in texts[2] and "gradients" not in texts[2]
    assert "root only" in texts[3] and "sends" in texts[3]


def test_its_words(page: str) -> None:
    assert "<h1>train.py --lr 1</h1>" in page
    assert "1 finding" in page and "FSDP601" in page and "/jobs/train.py:33" in page
    assert "torch.compile was left out <code>/jobs/train.py:12</code>" in page
    assert "Tied: embed.weight = head.weight" in page
    assert "Uneven: layers.0.norm.weight and 11 more: 5 rows over 8 ranks" in page
    assert "Nothing was sharded." in page


def test_the_same_rehearsal_gives_the_same_page(rehearsal: Rehearsal, page: str) -> None:
    assert html.render(rehearsal) == page


def test_names_are_no_markup(rehearsal: Rehearsal) -> None:
    size = rehearsal.sizes[0]
    assert size.plan is not None
    evil = "<script>alert(1)</script>$x$ & \x1b[1m"
    group = replace(size.plan.groups[0], fqn=evil, label=evil)
    plan = replace(size.plan, label=evil, groups=(group, *size.plan.groups[1:]))
    page = html.render(replace(rehearsal, script=evil, sizes=(replace(size, plan=plan),)))
    assert "<script" not in page and "\x1b" not in page
    assert any("<script>alert(1)</script>$x$ &" in "".join(each.itertext()) for each in svgs(page))


def test_a_rehearsal_of_nothing() -> None:
    page = html.render(Rehearsal("train.py", (), "plan", (Rehearsed(8, (0,), None),)))
    assert "Nothing was sharded." in page and "No findings" in page and not svgs(page)


@pytest.mark.slow
def test_more_groups_than_are_drawn() -> None:
    plan = planned(8)
    group = plan.groups[0]
    many = tuple(replace(group, fqn=f"part{at}", label=f"Part{at}") for at in range(50))
    page = html.render(Rehearsal("train.py", (), "plan", (Rehearsed(8, (0,), replace(plan, groups=many)),)))
    assert "The first 40 of 50 rows." in page and "Part49" in page


@pytest.mark.slow
@given(st.integers(1, 80), st.lists(st.integers(0, 90), min_size=1, max_size=4))
def test_the_map_of_shards(shards: int, lengths: list[int]) -> None:
    params = tuple(
        PlannedParam(f"p{at}", (), (length, 3), (length, 3), "float32", 4, "float32", 4, 0, ("S(0)",), True, 0)
        for at, length in enumerate(lengths)
    )
    shape = MeshShape((), (shards,))
    group = PlannedGroup("", "Net", params, shape, shards, 0, 1, False, True, "float32", 4, False, False, True, None)
    held = [sum(sizes.held(each, shards, rank) for each in params) for rank in range(shards)]
    drawn = [part for start, end, part in pictures.spans(group) for _ in range(start, end)]
    assert drawn == [each / held[0] if held[0] else 0.0 for each in held]


def test_the_json(rehearsal: Rehearsal) -> None:
    import json

    values = json.loads(as_json.render(rehearsal))
    first = values["sizes"][0]
    plan = rehearsal.sizes[0].plan
    assert plan is not None
    assert first["state"]["total"] == sizes.state(plan, shard_rank=0).total
    assert first["traffic"][0] == {
        "group": "",
        "kind": "all_gather",
        "ranks": 8,
        "count": 1,
        "bytes": sizes.gathered(plan.groups[0]),
        "sent": sizes.gathered(plan.groups[0]) * 7 // 8,
    }
    assert from_json(Rehearsal, values).sizes == rehearsal.sizes


QUIET = """\
import sys
import fsdp2_lint.preflight.page.json, fsdp2_lint.preflight.page.text, fsdp2_lint.preflight.plan.what_if
print(sorted({"torch", "matplotlib", "numpy"} & sys.modules.keys()))
sys.modules["matplotlib"] = None
try:
    import fsdp2_lint.preflight.page.html
except ImportError as error:
    print(error.name or "matplotlib")
"""


def test_text_and_json_need_neither_torch_nor_matplotlib() -> None:
    ran = subprocess.run([sys.executable, "-c", QUIET], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["[]", "matplotlib"]
