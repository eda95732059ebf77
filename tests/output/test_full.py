"""The format for people: the whole text, since its look is what it is for."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output import render
from fsdp2_lint.output.terminal import NARROWEST
from fsdp2_lint.vocab.finding import Finding, Severity
from tests import fake


def full(*findings: Finding, overlay: dict[str, bytes] | None = None) -> str:
    text = render("full", findings, Sources(overlay))
    assert text.endswith("\n\n")
    return text.rstrip("\n")


def look(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_story_over_two_files(here: Path) -> None:
    (here / "train.py").write_text(
        "from parallel import apply\n\n"
        "def main(model):\n"
        "    optimizer = AdamW(model.parameters())\n"
        "    apply(model)\n"
        "    for batch in data:\n"
        "        model(batch)\n"
        "        optimizer.step()\n"
    )
    (here / "parallel.py").write_text("def apply(model):\n    fully_shard(model)\n")
    text = full(
        fake.finding(
            fake.site(here / "train.py", 4, 17, 4, 42),
            (fake.site(here / "train.py", 8, 9, 8, 25), "steps nothing"),
            (fake.site(here / "parallel.py", 2, 5, 2, 23), "replaces them"),
            (fake.site(here / "train.py", 5, 5, 5, 17), "called here"),
        )
    )
    assert text == look("""
        FSDP601 error optimizer-before-sharding: the optimizer holds parameters that fully_shard replaces
         --> train.py:4:17
          |
        4 |     optimizer = AdamW(model.parameters())
          |                 ^^^^^^^^^^^^^^^^^^^^^^^^^ built here
        5 |     apply(model)
          |     ------------ called here
        ...
        8 |         optimizer.step()
          |         ---------------- steps nothing
         ::: parallel.py:2:5
          |
        2 |     fully_shard(model)
          |     ------------------ replaces them
          |
          = help: build it after the last fully_shard
          = explain: fsdp2-lint explain FSDP601
    """)


def test_two_spans_on_one_line(here: Path) -> None:
    (here / "a.py").write_text("opt, model = build(), shard()\n")
    text = full(
        fake.finding(fake.site(here / "a.py", 1, 14, 1, 21), (fake.site(here / "a.py", 1, 23, 1, 30), "sharded"))
    )
    assert text.splitlines()[3:6] == [
        "1 | opt, model = build(), shard()",
        "  |              ^^^^^^^ built here",
        "  |                       ------- sharded",
    ]


def test_the_severity_is_said(here: Path) -> None:
    (here / "a.py").write_text("x\n")
    text = full(fake.finding(fake.site(here / "a.py", 1), severity=Severity.WARNING))
    assert text.startswith("FSDP601 warning optimizer-before-sharding: ")


@pytest.mark.parametrize(
    ("source", "at", "lines"),
    [
        (b"if x:\n\tbuild(\ty)\n", (2, 2, 2, 11), ["2 |     build(  y)", "  |     ^^^^^^^^^^ built here"]),
        ("名 = build()\n".encode(), (1, 5, 1, 12), ["1 | 名 = build()", "  |      ^^^^^^^ built here"]),
        ("e\u0301 = build()".encode(), (1, 6, 1, 13), ["1 | e\u0301 = build()", "  |     ^^^^^^^ built here"]),
        (b"x\r\nbuild()\r\n", (2, 1, 2, 8), ["2 | build()", "  | ^^^^^^^ built here"]),
        (b"x\rbuild()", (2, 1, 2, 8), ["2 | build()", "  | ^^^^^^^ built here"]),
        (b"\x0cbuild()", (1, 2, 1, 9), ["1 | \ufffdbuild()", "  |  ^^^^^^^ built here"]),
        (b"s = '\x1b[2J'", (1, 1, 1, 2), ["1 | s = '\ufffd[2J'", "  | ^ built here"]),
        ("s = '\u202e'".encode(), (1, 1, 1, 2), ["1 | s = '\ufffd'", "  | ^ built here"]),
        (b"build(\n    a,\n)\n", (1, 1, 3, 2), ["1 | build(", "  | ^^^^^^ built here"]),
        (b"build()", (1, 3), ["1 | build()", "  |   ^ built here"]),
        (b"build()", (1, 99, 1, 120), ["1 | build()", "  |        ^ built here"]),
        (b"build()", (9, 1), ["  | built here"]),
        (b"", (1, 1), ["1 |", "  | ^ built here"]),
        (b"# coding: latin-1\n\xe9()\n", (2, 1, 2, 4), ["2 | é()", "  | ^^^ built here"]),
        (b"\xff()\n", (1, 1, 1, 4), ["1 | \ufffd()", "  | ^^^ built here"]),
    ],
)
def test_odd_sources(here: Path, source: bytes, at: tuple[int, ...], lines: list[str]) -> None:
    path = str(here / "a.py")
    assert full(fake.finding(fake.site(path, *at)), overlay={path: source}).splitlines()[3:-3] == lines


def test_long_lines_are_cut_around_the_span(here: Path) -> None:
    path = str(here / "a.py")
    source = b"x = [" + b"1, " * 1000 + b"build(), " + b"2, " * 1000 + b"]\n"
    text = full(fake.finding(fake.site(path, 1, 3006, 1, 3013)), overlay={path: source})
    code, underline = text.splitlines()[3:5]
    assert len(code) <= 210 and code.startswith("1 | …") and code.endswith("…")
    start = underline.index("^")
    assert code[start : start + 7] == "build()" and underline[start:].startswith("^^^^^^^ ")


def test_lines_are_fitted_to_the_terminal(here: Path) -> None:
    path = str(here / "a.py")
    source = b"    optimizer = build_optimizer(model.parameters())  # and a comment behind it\n"
    at = fake.site(path, 1, 17, 1, 52)
    finding = fake.finding(at, message="the optimizer holds parameters that are replaced", label="built too early")
    text = render("full", [finding], Sources({path: source}), width=64)
    assert text.rstrip("\n") == look("""
        FSDP601 error optimizer-before-sharding: the optimizer holds
          parameters that are replaced
         --> a.py:1:17
          |
        1 |     optimizer = build_optimizer(model.parameters())  # and…
          |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |                 built too early
          |
          = help: build it after the last fully_shard
          = explain: fsdp2-lint explain FSDP601
    """)


@given(width=st.integers(1, 150), column=st.integers(1, 300), words=st.text("abc def", max_size=200))
def test_no_line_is_wider_than_the_terminal(width: int, column: int, words: str) -> None:
    path = "/a.py"
    finding = fake.finding(fake.site(path, 3, column, 3, column + 9), message=words, help=words, label=words)
    text = render("full", [finding], Sources({path: b"\n\n" + b"x = 1; " * 40}), width=width)
    longest = max(map(len, f"{words} optimizer-before-sharding:".split()))
    for line in text.splitlines():
        assert len(line) <= max(width, NARROWEST) or len(line.split()[-1]) <= longest > 20, line


def test_messages_cannot_move_the_cursor(here: Path) -> None:
    path = str(here / "a.py")
    bad = fake.finding(fake.site(path, 1), message="two\nlines \x1b[31m", help="a\r\nb", label="x\x07")
    text = full(bad, overlay={path: b"x"})
    assert "\x1b" not in text and "\x07" not in text
    assert "two lines \ufffd[31m" in text and "help: a b" in text


@given(
    source=st.text(max_size=400),
    places=st.lists(st.tuples(*[st.integers(1, 300)] * 4), min_size=1, max_size=4),
)
def test_anything_renders(source: str, places: list[tuple[int, int, int, int]]) -> None:
    path = "/nowhere/a.py"
    sites = [fake.site(path, row % 9 + 1, column, end % 9, stop) for row, column, end, stop in places]
    finding = fake.finding(sites[0], *((each, "also") for each in sites[1:]))
    sources = Sources({path: source.encode("utf-8", "surrogatepass")})
    for format in ("full", "concise", "json"):
        text = render(format, [finding], sources)
        assert text.encode() and all(len(line) < 300 for line in text.split("\n"))
