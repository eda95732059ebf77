"""The first page of the site: its pictures show what the tool says, and its numbers are those that were measured."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.output.contract import POINTS
from scripts import pictures

ROOT = pictures.ROOT
SVG = "{http://www.w3.org/2000/svg}"
PAGE = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
FOUND = (ROOT / "docs" / "found.md").read_text(encoding="utf-8")


def rows(heading: str, text: str = PAGE) -> list[list[str]]:
    _, _, *lines = [line for line in text.split(heading)[1].split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.quick(1)
@pytest.mark.parametrize("path", [pictures.FINDING, pictures.TERMINAL], ids=lambda path: path.name)
def test_pictures_are_up_to_date(path: Path) -> None:
    """Else `python scripts/pictures.py` draws them anew."""
    assert path.read_text(encoding="utf-8") == pictures.drawings()[path]


@pytest.mark.quick(1)
@pytest.mark.parametrize("path", [pictures.FINDING, pictures.TERMINAL], ids=lambda path: path.name)
def test_pictures_are_on_the_page_and_load_nothing(path: Path) -> None:
    assert re.search(rf"!\[[^\]]{{40,}}\]\(pictures/{path.name}\)", PAGE), (
        "a reader who sees no picture is told what it shows"
    )
    drawn = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|@import|href|url\((?!#)", drawn)


def test_the_terminal_ends_with_all_lines_and_shows_each_in_its_turn() -> None:
    events = [json.loads(line) for line in pictures.CAST.read_text(encoding="utf-8").splitlines()[1:]]
    drawn = pictures.TERMINAL.read_text(encoding="utf-8")
    stops = re.findall(r"([\d.]+)%\{transform", drawn.split("@keyframes cover")[1])
    assert len(stops) == len(events) and [*map(float, stops)] == sorted(map(float, stops)) and float(stops[-1]) < 100
    written = "".join(each.text or "" for each in ElementTree.fromstring(drawn).iter(f"{SVG}text"))
    recorded = re.sub(r"\x1b\[[\d;]*m", "", "".join(words for _, _, words in events))
    assert "".join(written.split()) == "".join(recorded.split())


@pytest.mark.slow
@pytest.mark.torchrun
def test_the_job_still_says_what_was_recorded(tmp_path: Path) -> None:
    """All but its numbers. Else `python scripts/pictures.py --record` records it anew."""
    pytest.importorskip("torch")
    command = [*pictures.JOB[:1], "--report-dir", str(tmp_path), *pictures.JOB[1:]]
    environment = {**os.environ, "FORCE_COLOR": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "fsdp2_lint", *command],
        cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )  # fmt: skip
    _, *events = [json.loads(line)[2] for line in pictures.CAST.read_text(encoding="utf-8").splitlines()[1:]]
    recorded = "".join(events).replace("\r\n", "\n")
    assert re.sub(r"\d+\.\d+", "N", ran.stdout) == re.sub(r"\d+\.\d+", "N", recorded)


def test_the_five_points_are_those_of_the_command() -> None:
    assert [name for name, _ in rows("## The contract in five points")] == [*POINTS]


def test_what_was_found_is_in_the_whole_table() -> None:
    every = {(row[4], row[6], f"{row[0]}, {row[2]}, line {row[3]}") for row in rows("# Found in public code", FOUND)}
    shown = rows("## Found in public code")
    assert len(shown) >= 6 and {tuple(row) for row in shown} <= every


def test_what_is_counted_is_there() -> None:
    numbers = {what.split()[0]: number for number, what, _ in rows("## In numbers")}
    every = rows("# Found in public code", FOUND)
    assert numbers["rules,"] == str(len(registry.rules())) and f"[{len(registry.rules())} rules]" in PAGE
    assert numbers["faults"] and [str(len(every))] == re.findall(r"\[All (\d+)\]\(found\.md\)", PAGE)
    assert f"{len({row[0] for row in every})} public repositories" in PAGE
    assert [str(len(every))] == [
        number for number, what, _ in rows("## In numbers") if "public repositories, each read" in what
    ]


def test_each_number_has_a_command_that_exists_and_is_what_that_measured() -> None:
    measured = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    planted = (ROOT / "tests" / "mutation" / "README.md").read_text(encoding="utf-8")
    for number, what, command in rows("## In numbers"):
        script = re.search(r"\b(?:benchmarks|scripts|tests)/[\w/]+\.py", command)
        if script is None:
            continue  # counted above
        assert (ROOT / script[0]).is_file(), command
        said = {"benchmarks": measured, "scripts": planted}.get(script[0].split("/")[0])
        if said is not None:
            for figure in re.findall(r"\d+(?:\.\d+)? of \d+|\d+\.\d+", f"{number}; {what}"):
                assert re.search(rf"(?<![\d.]){figure}(?!\d|\.\d)", said), f"{command}: {figure}"
