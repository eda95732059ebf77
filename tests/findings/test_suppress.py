"""Comments that silence findings."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.suppress import malformed, partition, suppressions
from tests import fake


def silent(source: str | bytes, code: str = "FSDP601") -> list[int]:
    """The rows on which ``code`` is silenced."""
    data = source.encode() if isinstance(source, str) else source
    found = suppressions(data)
    return [row for row in range(1, data.count(b"\n") + 3) if any(each.silences(code, row) for each in found)]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: FSDP601",
        "# noqa:FSDP601",
        "# noqa : fsdp601",
        "# noqa: E501,FSDP601",
        "# noqa: E501 FSDP601",
        "# noqa: FSDP601 the frozen part has its own optimizer",
        "# noqa because of reasons",
        "# noqa because of FSDP601",
        "# noqa FSDP2 needs it",
        "# noqa E501",
        "# type: ignore  # noqa: FSDP601",
        "# fsdp2-lint: ignore[FSDP601]",
        "# fsdp2-lint: ignore[FSDP601] the frozen part has its own optimizer",
        "#fsdp2-lint:ignore[ FSDP303, FSDP601, ]",
        "# fsdp2-lint: ignore[FSDP303]  # fsdp2-lint: ignore[FSDP601]",
        "# fsdp2-lint: ignore[optimizer-before-sharding] by its name",
        "# fsdp2-lint: ignore[FSDP303, optimizer-before-sharding]",
        "# noqa: optimizer-before-sharding",
        "# noqa: E501, optimizer-before-sharding by its name",
        "# noqa: E501, Optimizer-Before-Sharding Direct-Forward",
        "# noqa: optimizer_before_sharding",
        "# fsdp2-lint: ignore[fsdp303, OPTIMIZER-Before_Sharding]",
        "# fsdp2-lint: ignore[FSDP303] see #12  # fsdp2-lint: ignore[FSDP601]",
    ],
)
def test_comments_that_count(comment: str) -> None:
    assert silent(f"a()\nb()  {comment}\nc()\n") == [2]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: FSDP60",
        "# noqa: optimizer-before-shardin",
        "# noqa: optimizer-before-sharding-too",
        "# noqa: see optimizer-before-sharding",
        "# fsdp2-lint: ignore[optimizer-before]",
        "# noqa: FSDP6011",
        "# noqa:",
        "# noqa: the optimizer is right",
        "# noqaFSDP601",
        "# noqa FSDP601",
        "# noqa[FSDP601]",
        "# noqa E501, FSDP601",
        "# noqa optimizer-before-sharding",
        "# noqa: [FSDP601]",
        "# fsdp2-lint: ignore",
        "# fsdp2-lint: ignore[]",
        "# fsdp2-lint: ignore[FSDP602]",
        "# fsdp2-lint: ignore[FSDP]",
        "# fsdp2-lint ignore[FSDP601]",
        "; '# noqa'",
        "; '# fsdp2-lint: ignore[FSDP601]'",
    ],
)
def test_comments_that_do_not_count(comment: str) -> None:
    assert silent(f"a()\nb() {comment}\nc()\n") == []


def test_a_comment_covers_the_whole_logical_line() -> None:
    assert silent("a()\nb(\n    x,  # noqa\n    '''\n    ''',\n)\nc()\n") == [2, 3, 4, 5, 6]
    assert silent("b(\n    x,\n)  # fsdp2-lint: ignore[FSDP601]\nc()\n") == [1, 2, 3]
    assert silent("b(\n    # fsdp2-lint: ignore[FSDP601]\n    x,\n)\nc()\n") == [1, 2, 3, 4]
    assert silent("a = 1 + \\\n    2  # noqa\nc()\n") == [1, 2]


def test_of_a_compound_statement_only_the_header_is_covered() -> None:
    assert silent("for x in y:  # noqa\n    a()\n") == [1]


def test_an_own_line_comment_covers_the_next_statement() -> None:
    assert silent("a()\n# fsdp2-lint: ignore[FSDP601] why\n\n# more\nb(\n    x,\n)\nc()\n") == [5, 6, 7]
    assert silent("if x:\n    # fsdp2-lint: ignore[FSDP601]\n    b()\nc()\n") == [3]
    assert silent("# fsdp2-lint: ignore[FSDP303]\n# fsdp2-lint: ignore[FSDP601]\nb()\n") == [3]
    assert silent("if x:\n    a()\n    # fsdp2-lint: ignore[FSDP601]\nb()\n") == [4]


def test_a_file_can_be_silent_for_a_code() -> None:
    comment = "# fsdp2-lint: ignore-file[FSDP601, FSDP303] generated"
    assert silent(f"a()\n{comment}\nb()\n") == [1, 2, 3, 4, 5]
    assert silent(f"a()  {comment}\nb()\n", "FSDP602") == []
    overlay = {"/a.py": b"a()\n", "/b.py": f"b()\n{comment}\n".encode()}
    a, b = fake.site("/a.py", 1), fake.site("/b.py", 1)
    passing, here = fake.finding(a, (b, "too")), fake.finding(b)
    assert partition([passing, here], Sources(overlay)) == ([passing], [here]), "only where the story begins"


def test_a_name_in_a_comment_for_the_file() -> None:
    assert silent("# fsdp2-lint: ignore-file[optimizer-before-sharding]\na()\n") == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("# noqa: " + "a1 " * 60_000 + "-", 0),
        ("# noqa " + "a1 " * 60_000 + "FSDP601", 1),
        ("# fsdp2-lint: ignore[" + "a-" * 60_000, 1),
        ("#" * 90_000 + "fsdp2-lint:", 0),
    ],
    ids=["noqa", "no colon", "ignore", "signs"],
)
def test_a_comment_takes_time_by_its_length(comment: str, told: int) -> None:
    """The wrong way these take minutes."""
    data = f"a()  {comment}\n".encode()
    assert silent(data) == []
    assert len([*malformed(data)]) == told


def test_an_own_line_noqa_covers_nothing() -> None:
    assert silent("# noqa\nb()\n") == []


def test_codes_are_kept_apart() -> None:
    assert silent("b()  # noqa: FSDP601\n", "FSDP602") == []
    assert silent("b()  # noqa\n", "FSDP602") == [1]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    assert suppressions(end.join(["a()", "b()  # noqa", "c()"]).encode())[0].first == 2


@pytest.mark.parametrize(
    "source",
    [
        b"a()  # noqa\nb(\n",
        b"a()  # noqa\n  b()\n",
        b"a()  # noqa\n'''",
        b"# coding: latin-1\n'\xe9'  # noqa\n",
    ],
)
def test_what_can_be_read_counts(source: bytes) -> None:
    assert silent(source)


@pytest.mark.parametrize(
    "source",
    [
        b"\xff\xfe # noqa",
        b"# coding: klingon\na()  # noqa\n",
        b"# coding: rot13\na()  # noqa\n",
        b"# coding: utf-16\na()  # noqa\n",
        b"a()  # noqa\n(\0\n",
        b"# \xe9\na()  # noqa\n",
        b"   a()\n  b()  # noqa\n",
    ],
)
def test_what_cannot_be_read_silences_nothing_and_breaks_nothing(source: bytes) -> None:
    assert silent(source) == []


def test_what_was_read_before_bytes_that_are_no_text_still_counts() -> None:
    assert 1 in silent(b"a()  # noqa\nb()\n\n# \xe9 is no UTF-8\nc()  # noqa\n")


@given(
    st.text(alphabet="ab()[]'\"#\n\r\\ \t:,\f\0é", max_size=60), st.sampled_from(["# noqa", "# fsdp2-lint: ignore[F1]"])
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_any_text(before: str, comment: str) -> None:
    """Whatever stands around it, a comment of a statement of its own is found, unless the file breaks off before."""
    text = f"{before}\na()  {comment}\n"
    found = suppressions(text.encode())
    try:
        compile(text, "any", "exec")
    except (SyntaxError, ValueError):
        return
    row = len(re.split(r"\r\n|\r|\n", text)) - 1
    assert any(each.first <= row <= each.last and each.comment.row == row for each in found)


@given(
    st.binary(max_size=40), st.sampled_from([b"# noqa\n", b"# fsdp2-lint: ignore[FSDP601]\n"]), st.binary(max_size=40)
)
def test_any_bytes(before: bytes, comment: bytes, after: bytes) -> None:
    data = before + comment + after
    for each in suppressions(data):
        assert 1 <= each.comment.row <= data.count(b"\n") + data.count(b"\r") + 1
        assert 1 <= each.comment.column < each.comment.end_column


@pytest.mark.parametrize(
    ("line", "written", "codes"),
    [
        ("a()  # noqa: FSDP601", "# noqa: FSDP601", "FSDP601"),
        ("a()  # noqa: E501,FSDP601  # why", "# noqa: E501,FSDP601", "E501,FSDP601"),
        ("é()  # fsdp2-lint: ignore[ FSDP601 ] è", "# fsdp2-lint: ignore[ FSDP601 ] è", "FSDP601"),
        ("a()  # noqa: FSDP601 well-known, #12  # why", "# noqa: FSDP601 well-known, #12", "FSDP601"),
        ("# fsdp2-lint: ignore[FSDP601,FSDP602]  ", "# fsdp2-lint: ignore[FSDP601,FSDP602]", "FSDP601,FSDP602"),
    ],
)
def test_a_comment_knows_where_it_and_its_codes_are_written(line: str, written: str, codes: str) -> None:
    (found,) = suppressions(f"{line}\nb()\n".encode())
    comment = found.comment
    assert line[comment.column - 1 : comment.end_column - 1] == written
    assert line[comment.codes_column - 1 : comment.codes_end_column - 1] == codes
    assert comment.alone is line.startswith("#")


def test_any_span_of_a_finding() -> None:
    overlay = {"/a.py": b"a()\n", "/b.py": b"b()  # noqa: FSDP601\n"}
    a, b = fake.site("/a.py", 1), fake.site("/b.py", 1)
    alone, there, here = fake.finding(a), fake.finding(a, (b, "too")), fake.finding(b)
    other = fake.finding(b, code="FSDP602")
    assert partition([alone, there, here, other], Sources(overlay)) == ([alone, other], [there, here])


@pytest.mark.parametrize(
    "comment",
    [
        "# fsdp2-lint ignore FSDP601",
        "# fsdp2-lint ignore: FSDP601",
        "# fsdp2-lint; ignore[FSDP601]",
        "# fsdp2 lint: ignore[FSDP601]",
        "# fsdplint: ignore[FSDP601]",
        "# ruff: noqa: FSDP601",
        "# flake8: noqa: FSDP601",
        "# noqa: naive-torch-sav",
    ],
)
def test_a_comment_that_is_meant_for_this_tool_and_does_nothing(comment: str) -> None:
    assert silent(f"a()\nb()  {comment}\nc()\n") == []
    assert len([*malformed(f"b()  {comment}\n".encode())]) == 1


@pytest.mark.parametrize(
    "comment",
    [
        "# fsdp2-lint ignores what is frozen",
        "# see fsdp2-lint: it reports this",
        "# fsdp linting is not enough",
        "# ruff: noqa: E501",
        "# noqa: E501 - long-standing",
        "# noqa: my-own-linter",
    ],
)
def test_a_comment_that_speaks_of_the_tool_or_to_another_one(comment: str) -> None:
    assert not [*malformed(f"b()  {comment}\n".encode())]


def test_codes_behind_a_slip_count() -> None:
    (found,) = suppressions(b"f()  # noqa: F401, FSDP6O1, optimiser-first, FSDP601\n")
    assert found.silences("FSDP601", 1) and not found.silences("FSDP602", 1)
