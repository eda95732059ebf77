"""Comments that are written for findings: they silence them, and change nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.add_ignore import Ignored, with_ignores
from fsdp2_lint.findings.suppress import suppressions
from fsdp2_lint.vocab.finding import Finding
from tests import fake

PATH, OTHER = "/project/train.py", "/project/vendored.py"


def ignored(text: str | bytes, *found: Finding, files: Sequence[str] = (PATH,), reason: str = "") -> Ignored:
    data = text.encode() if isinstance(text, str) else text
    return with_ignores(found, Sources({PATH: data, OTHER: b"g()\n"}), files, reason)


def at(row: int, code: str = "FSDP601") -> Finding:
    return fake.finding(fake.site(PATH, row), code=code)


@pytest.mark.parametrize(
    ("after", "row"),
    [
        ("f()\n#+\ng()\n", 2),
        ("if x:\n    #+\n    f()\n", 2),
        ("if x:\n\t#+\n\tf()", 2),
        ("#+\nf(\n    a,\n    '''\n    b''',\n)\n", 3),
        ("#+\nx = 1 + \\\n    f()\n", 2),
        ("@d\n#+\nclass A:\n    pass\n", 2),
        ("if x:\n    pass\n#+\nelif f():\n    pass\n", 3),
        ("#!/usr/bin/python\n# coding: utf-8\n#+\nf()\n", 3),
        ("# why\n#+\nf()\n", 2),
        ("#+\r\nf(); g()\r\nh()\r\n", 1),
        ("\ufeff#+\nf()\n", 1),
    ],
)
def test_where_the_comment_stands(after: str, row: int) -> None:
    """``#+`` is the comment; ``row`` is where the finding is before."""
    before = re.sub(r"[ \t]*#\+\r?\n", "", after)
    assert ignored(before, at(row)).changed[PATH].decode() == after.replace("#+", "# fsdp2-lint: ignore[FSDP601]")


def test_codes_of_one_statement_share_a_comment_and_the_reason_is_one_line() -> None:
    told = ignored("f(\n    a,\n)\n", at(1), at(2, "FSDP303"), at(1, "FSDP303"), reason="  kept\nfor\t2.0 ")
    assert told.changed[PATH] == b"# fsdp2-lint: ignore[FSDP303, FSDP601] kept for 2.0\nf(\n    a,\n)\n"
    assert (len(told.silenced), told.left) == (3, [])


def test_the_encoding_of_the_file_is_kept() -> None:
    text = "# coding: latin-1\nf('é')\n".encode("latin-1")
    assert ignored(text, at(2), reason="für").changed[PATH] == (
        "# coding: latin-1\n# fsdp2-lint: ignore[FSDP601] für\nf('é')\n".encode("latin-1")
    )
    assert ignored(text, at(2), reason="→").left == [at(2)], "what the file cannot hold is not written"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("f(:\n", fake.finding(fake.site(PATH, 1), code="FSDP000")),
        ("f()  # fsdp2-lint: ignore[FSDP601]\n", at(1, "FSDP001")),
        ("f()\n", at(7)),
        ("# only a comment\n", at(1)),
        ("f(\n", at(1)),
    ],
)
def test_what_no_comment_can_silence_is_left(text: str, finding: Finding) -> None:
    told = ignored(text, finding)
    assert (told.changed, told.silenced, told.left) == ({}, [], [finding])


def test_a_reason_that_python_would_read_is_not_written() -> None:
    told = ignored("f()\n", at(1), reason="coding: klingon")
    assert (told.changed, told.left) == ({}, [at(1)]), "in the first two lines this names an encoding"


def test_only_files_that_were_asked_for_are_changed() -> None:
    elsewhere = fake.site(OTHER, 1)
    beginning_there = fake.finding(elsewhere, (fake.site(PATH, 2), "ends here"))
    told = ignored("f()\ng()\n", beginning_there)
    assert told.changed == {PATH: b"f()\n# fsdp2-lint: ignore[FSDP601]\ng()\n"}
    assert ignored("f()\n", fake.finding(elsewhere)).left == [fake.finding(elsewhere)]


def test_the_cells_of_a_notebook_are_not_rows_of_its_file() -> None:
    in_cell = at(1).with_sites(lambda site: replace(site, cell=2))
    assert ignored("f()\n", in_cell).left == [in_cell]


BLOCKS = st.sampled_from(
    [
        "f()",
        "x = [\n    1,\n\n    # two\n    2,\n]",
        "if x:\n    f()\n    g()\nelse:\n    h()",
        "def f():\n    '''\n    f()\n    '''\n    return 1",
        "@a\n@b(\n    1\n)\nclass A:\n    x = 1",
        "try:\n    f()\nexcept E:\n    pass\nfinally:\n    g()",
        "y = 1; z = 2",
        "w = 1 + \\\n    2",
        "s = f'''\n{x}\n'''",
        "# alone",
        "# fsdp2-lint: ignore[FSDP303]\ng()",
        "with a, \\\n     b:\n    pass  # noqa: E501",
        "",
        "é = 'ü'",
    ]
)


@given(st.lists(BLOCKS, min_size=1, max_size=5), st.data(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_is_written_silences_and_changes_nothing_else(blocks: list[str], data: st.DataObject, end: str) -> None:
    text = "\n".join([*blocks, "last()"])
    rows = sorted(data.draw(st.sets(st.integers(1, text.count("\n") + 1), min_size=1, max_size=4)))
    before = text.replace("\n", end).encode()
    told = ignored(before, *map(at, rows))
    assume(told.changed)
    after = told.changed[PATH]
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(before))
    lines = re.split(r"\r\n|\r|\n", after.decode())
    written = [row for row, line in enumerate(lines, 1) if line.strip() == "# fsdp2-lint: ignore[FSDP601]"]
    kept = [row for row in range(1, len(lines) + 1) if row not in written]
    assert [lines[row - 1] for row in kept] == text.split("\n")
    silent = suppressions(after)
    for finding in told.silenced:
        row = kept[finding.primary.site.row - 1]
        assert any(each.silences("FSDP601", row) for each in silent), f"row {row} of {lines}"
    assert {finding.primary.site.row for finding in told.left} <= {*rows}
    assert len(told.silenced) + len(told.left) == len(rows)
