"""Comments that silence findings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.source import Sources
from fsdp2_lint.suppress import partition, suppressions
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
        "# type: ignore  # noqa: FSDP601",
        "# fsdp2-lint: ignore[FSDP601]",
        "# fsdp2-lint: ignore[FSDP601] the frozen part has its own optimizer",
        "#fsdp2-lint:ignore[ FSDP303, FSDP601, ]",
        "# fsdp2-lint: ignore[FSDP303]  # fsdp2-lint: ignore[FSDP601]",
    ],
)
def test_comments_that_count(comment: str) -> None:
    assert silent(f"a()\nb()  {comment}\nc()\n") == [2]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: FSDP60",
        "# noqa: FSDP6011",
        "# noqa:",
        "# noqa: the optimizer is right",
        "# noqaFSDP601",
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


@pytest.mark.parametrize("source", [b"\xff\xfe # noqa", b"# coding: klingon\na()  # noqa\n", b"a()  # noqa\0"])
def test_what_cannot_be_read_silences_little_and_breaks_nothing(source: bytes) -> None:
    suppressions(source)


@given(st.text(alphabet="ab()[]'\"#\n\r\\ \t:,", max_size=60), st.sampled_from(["# noqa", "# fsdp2-lint: ignore[F1]"]))
def test_any_text(before: str, comment: str) -> None:
    suppressions(f"{before}{comment}\n{before}".encode())


def test_any_span_of_a_finding() -> None:
    overlay = {"/a.py": b"a()\n", "/b.py": b"b()  # noqa: FSDP601\n"}
    a, b = fake.site("/a.py", 1), fake.site("/b.py", 1)
    alone, there, here = fake.finding(a), fake.finding(a, (b, "too")), fake.finding(b)
    other = fake.finding(b, code="FSDP602")
    assert partition([alone, there, here, other], Sources(overlay)) == ([alone, other], [there, here])
