"""FSDP001: comments that silence nothing, and their removal."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.files.edits import Text
from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.fix import fix_all
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.findings.suppress import Comments
from fsdp2_lint.findings.unused import CODE, idle, misspelt, unused
from fsdp2_lint.lint import lint
from fsdp2_lint.settings import Settings
from fsdp2_lint.vocab.finding import Finding
from tests import fake

PATH = "/project/train.py"
KNOWN = {"FSDP000", "FSDP001", "FSDP601", "FSDP602", "FSDP907"}
APPLIES = {"FSDP601", "FSDP602"}


def told(data: bytes, *found: Finding) -> list[Finding]:
    comments = Comments(Sources({PATH: data}))
    for finding in found:
        comments.silence(finding)
    return [*unused([PATH], comments, APPLIES, KNOWN)]


def mended(data: bytes, *found: Finding) -> bytes:
    edits = [edit for finding in told(data, *found) if finding.fix for edit in finding.fix.edits]
    return Text(data).edited(edits)


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("f()  # fsdp2-lint: ignore[FSDP601]", "f()"),
        ("f()  # fsdp2-lint: ignore[FSDP601] because of this", "f()"),
        ("f()  # fsdp2-lint: ignore[FSDP601, FSDP602]", "f()"),
        ("f()  # fsdp2-lint: ignore[FSDP601, FSDP907] why", "f()  # fsdp2-lint: ignore[FSDP907] why"),
        ("f()  # fsdp2-lint: ignore[fsdp601, fsdp907]", "f()  # fsdp2-lint: ignore[fsdp907]"),
        ("f()  # noqa: FSDP601", "f()"),
        ("f()  # noqa: E501,FSDP601", "f()  # noqa: E501"),
        ("f()  # noqa: FSDP601, E501  # type: ignore", "f()  # noqa: E501  # type: ignore"),
        ("f()  # type: ignore  # noqa: FSDP601", "f()  # type: ignore"),
        ("f()  # noqa: FSDP601 # type: ignore", "f() # type: ignore"),
        ("f()  # fsdp2-lint: ignore[FSDP601]  # fsdp2-lint: ignore[FSDP602]", "f()"),
        ("f('é')  # fsdp2-lint: ignore[FSDP601] é", "f('é')"),
        ("f()  # noqa: FSDP699", "f()"),
        ("f()  # fsdp2-lint: ignore[FSDP601] accepted, see #12", "f()"),
        ("f()  # fsdp2-lint: ignore[FSDP601] see # 12 and https://a.b/c#d, then", "f()"),
        ("f()  # noqa: FSDP601 see #12  # type: ignore", "f()  # type: ignore"),
        ("f()  # fsdp2-lint: ignore[FSDP601] see #12  # pragma: no cover", "f()  # pragma: no cover"),
        ("f()  # noqa: optimizer-before-sharding", "f()"),
        ("f()  # noqa: E501, optimizer-before-sharding well-known", "f()  # noqa: E501 well-known"),
        (
            "f()  # fsdp2-lint: ignore[optimizer-before-sharding, fsdp1-in-use]",
            "f()  # fsdp2-lint: ignore[fsdp1-in-use]",
        ),
        ("f()  # fsdp2-lint: ignore[optimizer-befor-sharding]", "f()"),
        ("f()  # fsdp2-lint: ignore[E501, FSDP907]", "f()  # fsdp2-lint: ignore[FSDP907]"),
        ("f()  # fsdp2-lint: ignore[FSDP6] a prefix", "f()"),
        ("# fsdp2-lint: ignore-file[FSDP601] see #12\nf()", "f()"),
    ],
)
def test_what_is_removed(line: str, left: str) -> None:
    assert mended(f"a()\n{line}\nb()\n".encode()).decode() == f"a()\n{left}\nb()\n"


@pytest.mark.parametrize(
    "line",
    [
        "f()  # noqa",
        "f()  # noqa: E501",
        "f()  # noqa: optimizer-befor-sharding",
        "f()  # noqa: fsdp1-in-use",
        "f()  # noqa: FSDP907",
        "f()  # fsdp2-lint: ignore[FSDP907]",
        "f()  # fsdp2-lint: ignore[FSDP001]",
        "f('# fsdp2-lint: ignore[FSDP601]')",
        "# noqa: FSDP601",
    ],
)
def test_what_is_left_alone(line: str) -> None:
    assert told(f"{line}\nb()\n".encode()) == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_comment_of_its_own_goes_with_its_line(end: bytes) -> None:
    lines = [b"if x:", b"    # fsdp2-lint: ignore[FSDP601] why", b"    f()", b""]
    assert mended(end.join(lines)) == end.join([lines[0], *lines[2:]])


def test_a_comment_that_is_used_is_not_told() -> None:
    data = b"# fsdp2-lint: ignore[FSDP601, FSDP602]\nf(\n    a,\n)\n"
    here = fake.finding(fake.site(PATH, 3))
    (partly,) = told(data, here)
    assert partly.message == "FSDP602 is not found here: in this comment it does nothing"
    assert partly.help == "remove FSDP602 from the comment"
    assert told(data, here, fake.finding(fake.site(PATH, 2), code="FSDP602")) == []
    assert mended(data, here) == b"# fsdp2-lint: ignore[FSDP601]\nf(\n    a,\n)\n"


def test_a_code_that_does_not_exist_is_told() -> None:
    (finding,) = told(b"f()  # fsdp2-lint: ignore[FSDP907, FSDP699]\n")
    assert finding.message == "FSDP699 is not a rule: in this comment it does nothing"
    (finding,) = told(b"f()  # fsdp2-lint: ignore[naive-torch-sav]\n")
    assert finding.message == "naive-torch-sav is not a rule: in this comment it does nothing"
    assert finding.help == "remove the comment; did you mean naive-torch-save?"
    (finding,) = told(b"f()  # noqa: F401, FSDP6O1, FSDP907\n")
    assert finding.message == "FSDP6O1 is not a rule: in this comment it does nothing"
    (finding,) = told(b"f()  # noqa: FSDP907, naive-torch-sav\n")
    assert finding.message == "naive-torch-sav is not a rule: in this comment it does nothing"
    assert told(b"f()  # noqa: FSDP907, well-known\n") == []
    (finding,) = told(b"f()  # fsdp2-lint: ignore[FSDP601, FSDP699, FSDP698]\n")
    said = "FSDP698, FSDP699 are not rules, and FSDP601 is not found here: in this comment they do nothing"
    assert finding.message == said


MALFORMED = [
    "# fsdp2-lint: ignore",
    "# fsdp2-lint: ignore[]",
    "# fsdp2-lint: ignroe[FSDP601]",
    "# fsdp2-lint: ignore[FSDP601 see #12",
    "# fsdp2-lint: ignore[FSDP601 it is right]",
    "# fsdp2-lint: ignore[FSDP]",
    "# fsdp2-lint: ignore FSDP601",
    "# fsdp2-lint : ignore[FSDP601]",
    "# FSDP2-lint: ignore[FSDP601]",
    "# fsdp2-lint: disable=FSDP601, see https://a.b/c#d",
    "#fsdp2-lint:",
    "# fsdp2_lint: ignore[FSDP601]",
    "# fsdp2lint: ignore[FSDP601]",
    "# fsdp2-lint ignore[FSDP601] without a colon",
    "# noqa: FSDP",
    "# noqa: fsdp-601, see #12",
    "# noqa: naive-torch-sav",
    "# NoQA:optimizer-before-shard because",
]


@pytest.mark.parametrize("comment", MALFORMED)
@pytest.mark.parametrize(
    ("before", "left"),
    [
        ("x = 1  {}\n", "x = 1\n"),
        ("if x:\n    {}\n    f()\n", "if x:\n    f()\n"),
        ("f(\n    a,  {}\n)", "f(\n    a,\n)"),
    ],
)
def test_a_comment_that_is_not_understood_is_told(comment: str, before: str, left: str) -> None:
    sources = Sources({PATH: before.format(f"{comment}  # type: ignore").encode()})
    (finding,) = misspelt([PATH], sources)
    assert finding.message == "the comment is not understood, and silences nothing"
    site = finding.primary.site
    assert (sources.line(PATH, site.row) or "")[site.column - 1 : site.end_column - 1] == comment
    assert told(sources.data(PATH)) == [], "it is told once"
    data = before.format(comment).encode()
    (finding,) = misspelt([PATH], Sources({PATH: data}))
    assert finding.fix is not None and not finding.fix.safe, "somebody meant something by it"
    assert Text(data).edited(finding.fix.edits).decode() == left


@pytest.mark.parametrize(
    ("comment", "right"),
    [
        ("# noqa FSDP702", "# noqa: FSDP702"),
        ("# noqa[FSDP702]", "# noqa: FSDP702"),
        ("# type: ignore  # noqa E501 FSDP702 why", "# noqa: E501, FSDP702"),
        ("#noqa optimizer_before_sharding", "# noqa: optimizer_before_sharding"),
        ("# noqa: (FSDP702)", "# noqa: FSDP702"),
    ],
)
def test_a_code_without_a_colon_is_told_with_what_to_write(comment: str, right: str) -> None:
    data = f"f()  {comment}\n".encode()
    (finding,) = idle([PATH], Comments(Sources({PATH: data})), ())
    assert finding.help == f"write `{right}`, or remove the comment"
    assert finding.fix is not None and not finding.fix.safe, "it silences everything for other tools"
    after = Text(data).edited(finding.fix.edits).decode()
    assert right in after.replace("#noqa", "# noqa") and after.count("why") == comment.count("why")
    assert told(data) == [] and [*misspelt([PATH], Sources({PATH: after.encode()}))] == []


@pytest.mark.parametrize(
    "line",
    [
        "f()  # fsdp2-lint: ignore[FSDP601]",
        "f()  # fsdp2-lint: ignore[ FSDP601, naive-torch-save, ] see #12",
        "# fsdp2-lint: ignore-file[FSDP601]",
        "# noqa: FSDP601, fsdp2-lint: see there",
        "# as `# fsdp2-lint: ignore` says",
        "# fsdp2-lint checks this",
        "# fsdp2-lint ignore comments are here",
        "# noqa: naive-torch-save",
        "# noqa: no-such-thing",
        "# noqa: E501, of FSDP",
        "# noqa",
        "# noqa because of FSDP",
        "# noqa because of FSDP601",
        "# as `# noqa FSDP601` says",
        "s = '# fsdp2-lint: ignroe'",
    ],
)
def test_what_is_understood_or_no_comment_of_ours_is_not_told(line: str) -> None:
    assert [*misspelt([PATH], Sources({PATH: f"{line}\n".encode()}))] == []


CODES = st.lists(st.sampled_from(["FSDP601", "FSDP602", "FSDP907", "E501"]), min_size=1, max_size=3, unique=True)
LINES = st.sampled_from(
    ["x = 1", "if x:\n    y = 2", "f(\n    'a',\n)", "s = '''\n# noqa: FSDP601\n'''", "é = 'ü'", ""]
)
FORMS = st.sampled_from(
    ["# noqa: {}", "# fsdp2-lint: ignore[{}]", "# fsdp2-lint: ignore[{}] why", "# type: ignore  # noqa:{}"]
)


@given(st.lists(st.tuples(LINES, FORMS, CODES, st.booleans()), max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_removal_changes_nothing_else_and_leaves_none(parts: list[tuple[str, str, list[str], bool]], end: str) -> None:
    lines = []
    for statement, form, codes, alone in parts:
        comment = form.format(", ".join(codes))
        lines += [comment, statement] if alone else [f"{statement}  {comment}"]
    text = "\n".join([*lines, "z = 0", ""])
    before = text.replace("\n", end).encode()
    after = mended(before)
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(before))
    assert told(after) == []
    assert mended(after) == after
    # Whatever stood there for others is there still.
    others = sum("E501" in codes for _, form, codes, _ in parts if "noqa" in form)
    assert after.count(b"E501") == others and after.count(b"type: ignore") == before.count(b"type: ignore")
    assert after.count(end.encode()) == after.count(b"\n")


PRIVATE = "from torch.distributed._composable.fsdp import fully_shard"
IDLE = "x = 1  # fsdp2-lint: ignore[FSDP601]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(f"{PRIVATE}  # fsdp2-lint: ignore[FSDP901]\n")
    (tmp_path / "helper.py").write_text(IDLE)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def found(report: Report) -> list[tuple[str, str]]:
    return [(finding.code, Path(finding.primary.site.path).name) for finding in report.findings]


def test_in_a_project_only_what_is_not_needed_is_told(project: Path) -> None:
    assert found(lint([str(project)])) == [(CODE, "helper.py")]
    (project / "train.py").write_text(f"{PRIVATE.replace('_composable.', '')}  # fsdp2-lint: ignore[FSDP901]\n")
    assert found(lint([str(project)])) == [(CODE, "helper.py"), (CODE, "train.py")]


LATE = """\
import torch
from shard import shard
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
shard(model)
model(torch.ones(2)).sum().backward()
optimizer.step()
"""
SHARD = f"{PRIVATE.replace('_composable.', '')}\ndef shard(model):\n    fully_shard(model){{comment}}\n"


def test_a_comment_is_needed_where_the_fault_begins_in_a_file_that_was_not_given(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "late.py").write_text(LATE)
    helper = tmp_path / "shard.py"
    helper.write_text(SHARD.format(comment="  # fsdp2-lint: ignore[FSDP601, FSDP602]"))
    report = lint([str(helper)])
    assert found(report) == [(CODE, "shard.py")] and [each.code for each in report.silenced] == ["FSDP601"]
    helper.write_text(SHARD.format(comment="  # fsdp2-lint: ignore[FSDP601]"))
    assert found(lint([str(helper)])) == found(lint([str(tmp_path)])) == []
    (tmp_path / "late.py").unlink()
    assert found(lint([str(helper)])) == [(CODE, "shard.py")]


def test_nothing_is_told_unless_all_could_be_judged(project: Path) -> None:
    (project / "other.py").write_text(f"import nested\n{PRIVATE.replace('_composable.', '')}\n{IDLE}")
    (project / "nested.py").write_text("fully_shard(" * 300 + ")" * 300)
    report = lint([str(project / "other.py")])
    assert found(report) == [] and not report.all_judged, "a file that it imports could not be read"
    (project / "nested.py").unlink()
    assert found(lint([str(project / "other.py")])) == [(CODE, "other.py")]
    (project / "other.py").unlink()
    assert found(lint([str(project)], Asked(select=["FSDP601"]))) == [], "nobody asked for this code"
    assert found(lint([str(project)], Asked(ignore=[CODE]))) == []
    assert found(lint([str(project)], Asked(ignore=["FSDP601"]))) == [], "the code was not judged"
    (project / "bad.py").write_text("fully_shard(\n")
    assert found(lint([str(project)])) == [("FSDP000", "bad.py")]


def test_what_is_wrong_with_a_comment_is_told_whatever_was_judged(project: Path) -> None:
    (project / "helper.py").write_text(f"{IDLE}y = 1  # fsdp2-lint: ignroe[FSDP601]\nz = 1  # noqa: FSDP699\n")
    (project / "other.py").write_text(f"import nested\nimport helper\n{PRIVATE.replace('_composable.', '')}\n")
    (project / "nested.py").write_text("fully_shard(" * 300 + ")" * 300)
    for paths in ([project], [project / "helper.py"]):
        report = lint([str(path) for path in paths], Asked(ignore=["FSDP000"]))
        told = [each.primary.site.row for each in report.findings if each.code == CODE]
        assert told == [2, 3] and not report.all_judged
    assert found(lint([str(project / "other.py")])) == [], "they are in another file"
    assert found(lint([str(project / "helper.py")], Asked(select=["FSDP6"]))) == [], "nobody asked"
    (project / "helper.py").write_text(IDLE + "(")
    assert CODE not in [code for code, _ in found(lint([str(project)]))]


def test_of_tests_only_those_that_are_named_are_followed_and_told(project: Path) -> None:
    test = project / "test_helper.py"
    (project / "helper.py").rename(test)
    assert found(lint([str(project)])) == []
    assert found(lint([str(project), str(test)])) == []
    assert found(lint([str(test), str(project)])) == [(CODE, "test_helper.py")]


def test_a_file_with_bytes_that_are_no_text_is_left_as_it_is(project: Path) -> None:
    (project / "helper.py").write_bytes(IDLE.encode() + b"y = 1\n# \xe9 is no UTF-8\n")
    assert fix_all(lambda overlay: lint([str(project)], overlay=overlay), unsafe=False).changed == {}


@pytest.mark.parametrize("data", [b"y = (\n", b"y = '\0'\n", b"y = '\xe9'\n"])
def test_of_files_that_are_not_python_nothing_is_told(project: Path, data: bytes) -> None:
    (project / "helper.py").write_bytes(IDLE.encode() + data)
    assert found(lint([str(project)])) == []


def test_settings_hold_for_it_as_for_other_findings(project: Path) -> None:
    def check(**values: object) -> Report:
        settings = Settings(file=project / "pyproject.toml", **values)  # type: ignore[arg-type]
        return lint([str(project)], Asked(settings=settings))

    assert found(check(per_file_ignores=(("helper.py", (CODE,)),))) == []
    assert [each.severity.value for each in check(severity=((CODE, "error"),)).findings] == ["error"]
    (project / "helper.py").write_text(f"{IDLE.rstrip()}  # noqa\n")
    assert found(check()) == [], "noqa without codes silences this too"


def test_removal_in_a_project(project: Path) -> None:
    (project / "helper.py").write_text(f"# one\n{IDLE}# fsdp2-lint: ignore[FSDP901, FSDP601] why\ny = 2\n")
    result = fix_all(lambda overlay: lint([str(project)], overlay=overlay), unsafe=False)
    assert result.changed == {str(project / "helper.py"): b"# one\nx = 1\ny = 2\n"}
    assert found(result.report) == []


def test_a_file_need_not_speak_of_fsdp(tmp_path: Path) -> None:
    """The slip is in a helper: what it was meant to silence is found in a script that calls it."""
    path = tmp_path / "helper.py"
    path.write_text("x = 1  # noqa: naive-torch-sav\n")
    (finding,) = idle([str(path)], Comments(Sources({str(path): path.read_bytes()})), ())
    assert finding.primary.site.row == 1
