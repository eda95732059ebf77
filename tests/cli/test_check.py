"""`fsdp2-lint check`: exit codes, streams, selection, stdin."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from fsdp2_lint.vocab.finding import Severity
from tests import fake
from tests.cli.conftest import CANDIDATE, Ran

Cli = Callable[..., Ran]


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def test_clean_tree(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    ran = cli("check")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "No findings in 2 files, 1 with FSDP2.\n"
    (call,) = engine.calls
    assert call.files == [str(tree / "plain.py"), str(tree / "train.py")]
    assert call.explicit == set() and not call.overlay


def test_findings_on_stdout_and_the_rest_on_stderr(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3, 1, 3, 10))]
    engine.result.out_of_budget = ["main in train.py"]
    ran = cli("check", ".", "--output-format", "concise")
    assert ran.code == 1
    assert ran.out.count("\n") == 1 and ran.out.startswith("train.py:3:1: FSDP601 error ")
    assert ran.err == (
        "warning: out of budget, so its verdicts are unknown: main in train.py\n"
        "Found 1 error in 2 files. Incomplete: 1 warning above.\n"
    )


def test_findings_are_sorted_and_counted(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    warning = fake.finding(fake.site(tree / "train.py", 3), code="FSDP602", severity=Severity.WARNING)
    errors = [fake.finding(fake.site(tree / "train.py", row)) for row in (4, 1)]
    engine.result.findings = [warning, *errors]
    ran = cli("check", "--output-format", "json")
    assert [each["location"]["row"] for each in json.loads(ran.out)] == [1, 3, 4]
    assert "Found 2 errors, 1 warning in 2 files." in ran.err


def test_exit_zero_hides_findings_but_not_failures(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3))]
    assert cli("check", "--exit-zero").code == 0
    engine.result.broken = [("FSDP602", "KeyError: 'x'")]
    ran = cli("check", "--exit-zero")
    assert ran.code == 2 and "FSDP601" in ran.out
    assert "error: internal error in FSDP602: KeyError: 'x'" in ran.err


def test_an_unreadable_path_is_abnormal_and_the_rest_is_still_checked(
    cli: Cli, engine: fake.Engine, tree: Path
) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3))]
    ran = cli("check", "train.py", "missing.py")
    assert ran.code == 2 and "FSDP601" in ran.out
    assert "error: missing.py: cannot be read: No such file or directory\n" in ran.err


def test_nothing_to_check_is_abnormal(cli: Cli, tmp_path: Path) -> None:
    ran = cli("check", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: no Python files in {tmp_path}\n"


@pytest.mark.parametrize(
    "arguments", [["--nonsense"], ["--output-format", "grouped"], ["--stdin-filename", "x.py"], ["--color", "pink"]]
)
def test_bad_options_are_abnormal(cli: Cli, tree: Path, arguments: list[str]) -> None:
    ran = cli("check", *arguments)
    assert (ran.code, ran.out) == (2, "") and "Usage:" in ran.err


def test_a_misspelt_code_is_abnormal_even_without_candidates(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    (tree / "train.py").unlink()
    ran = cli("check", "--select", "FSDP6O1")
    assert ran.code == 2 and "unknown code or name 'FSDP6O1'; did you mean FSDP601?" in ran.err


def test_syntax_errors_are_findings(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.problems = [fake.problem(tree / "train.py", "syntax error: invalid syntax", 3, 5)]
    ran = cli("check", "--output-format", "concise")
    assert ran.code == 1
    assert ran.out == "train.py:3:5: FSDP000 error syntax error: invalid syntax [invalid-syntax]\n"


@pytest.mark.parametrize(
    "message",
    ["cannot be decoded: source code string cannot contain null bytes", "is nested too deeply to be parsed"],
)
def test_other_problems_are_failures(cli: Cli, engine: fake.Engine, tree: Path, message: str) -> None:
    engine.result.problems = [fake.problem(tree / "train.py", message)]
    ran = cli("check")
    assert (ran.code, ran.out) == (2, "") and f"error: train.py: {message}" in ran.err


def test_problems_of_files_that_were_not_given_are_only_said(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    (tree / "helper.py").write_text("def f(:\n")
    engine.result.problems = [fake.problem(tree / "helper.py", "syntax error: invalid syntax")]
    ran = cli("check", "train.py")
    assert (ran.code, ran.out) == (0, "")
    assert "warning: not followed: helper.py:1: syntax error: invalid syntax" in ran.err


def test_findings_wholly_outside_the_given_files_are_left_out(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    inside, outside = fake.site(tree / "train.py", 3), fake.site(tree / "helper.py", 1)
    engine.result.findings = [fake.finding(outside), fake.finding(outside, (inside, "here"), code="FSDP602")]
    ran = cli("check", "train.py", "--output-format", "concise")
    assert "FSDP602" in ran.out and "FSDP601" not in ran.out


def test_of_a_folder_only_files_that_may_lead_to_fsdp2_are_parsed(cli: Cli, tree: Path) -> None:
    (tree / "plain.py").write_text("def f(:\n")
    assert "FSDP000" not in cli("check").out
    named = cli("check", "plain.py", "--output-format", "agent").out
    assert "FSDP000" in named and "correct the syntax, or run fsdp2-lint with the Python that the project uses" in named
    (tree / "train.py").write_text(f"import plain\n{CANDIDATE}")
    assert "FSDP000" in cli("check").out


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"def f(:\n", 1, "FSDP000 error"),
        (b"x = 1\0\n", 2, "null byte"),
        (b"# coding: klingon\nx = 1\n", 2, "klingon"),
        (b"x = '\xff'\n", 2, "utf-8"),
        (b"(" * 5000, None, ""),
        (b"x" + b".x" * 50_000 + b"\n", None, ""),
        ("x = 'é'\n".encode("utf-16"), None, ""),
        (b"", 0, ""),
        (b"\xef\xbb\xbfx = 1\r\n", 0, ""),
    ],
)
def test_files_that_are_named_are_parsed_whatever_they_hold(
    cli: Cli, tree: Path, data: bytes, code: int | None, words: str
) -> None:
    (tree / "odd.py").write_bytes(data)
    ran = cli("check", "odd.py", "--output-format", "concise")
    assert ran.code == code if code is not None else ran.code in (0, 1, 2)  # how deep Python parses differs
    assert words.lower() in (ran.out + ran.err).lower()  # Python 3.14 says "Non-UTF-8 code", others name the codec


def test_comments_silence_findings_on_any_span(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    (tree / "train.py").write_text(CANDIDATE.replace("fully_shard(model)", "fully_shard(model)  # noqa: FSDP601"))
    engine.result.findings = [
        fake.finding(fake.site(tree / "train.py", 3), (fake.site(tree / "train.py", 4), "sharded here"))
    ]
    ran = cli("check")
    assert (ran.code, ran.out) == (0, "")
    assert "1 silenced by comments." in ran.err


def test_columns_count_characters(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    (tree / "train.py").write_text("名 = fully_shard(模型); 名()\n", encoding="utf-8")
    # The engine counts as Python's syntax trees do: bytes of UTF-8.
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 1, 7, 1, 26))]
    (one,) = json.loads(cli("check", "--output-format", "json").out)
    assert (one["location"]["column"], one["end_location"]["column"]) == (5, 20)
    assert f"     {'^' * 17} built" in cli("check").out


def test_select_and_ignore(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    def judged(*arguments: str) -> list[str]:
        assert cli("check", *arguments).code == 0
        return [rule.code for rule in engine.calls[-1].rules]

    assert judged() == ["FSDP601", "FSDP602"]  # advice is off
    assert judged("--select", "FSDP") == ["FSDP601", "FSDP602"]
    assert judged("--select", "FSDP9") == ["FSDP907"]
    assert judged("--select", "ALL") == ["FSDP601", "FSDP602", "FSDP907"]
    assert judged("--select", "ALL", "--ignore", "FSDP6") == ["FSDP907"]
    assert judged("--ignore", "FSDP6", "--select", "fsdp602, FSDP907") == ["FSDP602", "FSDP907"]
    assert judged("--select", "FSDP601", "--select", "FSDP602", "--ignore", "FSDP602") == ["FSDP601"]


def test_advice_of_a_rule_that_also_warns_is_off_too(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3), severity=Severity.INFO)]
    assert cli("check").code == 0
    assert cli("check", "--select", "FSDP6").code == 1


def test_files_with_fsdp1_alone_are_not_counted(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    old = "from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel\n"
    (tree / "old.py").write_text(old)
    assert cli("check").err == "No findings in 3 files, 1 with FSDP2.\n"
    assert cli("check", "--select", "ALL").err == "No findings in 3 files, 1 with FSDP2.\n"
    assert cli("check", "--select", "ALL", "old.py").err == "No findings in 1 file, none with FSDP2.\n"
    (tree / "train.py").write_text(f"import old\n{CANDIDATE}")
    assert cli("check", "--select", "ALL", "old.py").err == "No findings in 1 file of a program with FSDP2.\n"
    (tree / "old.py").write_text(f"{old}from torch.distributed.fsdp import fully_shard\n")
    assert cli("check").err == "No findings in 3 files, 2 with FSDP2.\n"


def test_stdin(cli: Cli, engine: fake.Engine, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, CANDIDATE.encode())
    path = str(tree / "pkg" / "new.py")
    engine.result.findings = [fake.finding(fake.site(path, 3, 1, 3, 10))]
    ran = cli("check", "-", "--stdin-filename", "pkg/new.py")
    assert ran.code == 1 and "pkg/new.py:3:1" in ran.out and "optimizer = make()" in ran.out
    (call,) = engine.calls
    assert call.files == [path] and call.explicit == {path} and call.overlay == {path: CANDIDATE.encode()}


def test_stdin_without_a_name(cli: Cli, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"def f(:\n")
    ran = cli("check", "-", "--output-format", "concise")
    assert ran.code == 1 and ran.out.startswith("<stdin>:1:")


def test_output_file(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3))]
    ran = cli("check", "--output-format", "json", "-o", "out.json")
    assert (ran.code, ran.out) == (1, "")
    assert json.loads((tree / "out.json").read_text())[0]["code"] == "FSDP601"
    assert cli("check", "-o", "no/such/folder.json").code == 2


def test_json_is_an_array_also_when_clean(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    assert cli("check", "--output-format", "json").out == "[]\n"


def test_color(cli: Cli, engine: fake.Engine, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3))]
    assert "\x1b[" not in cli("check").out
    assert "\x1b[" in cli("check", "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in cli("check").out
    assert "\x1b[" not in cli("check", "--color", "never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in cli("check").out


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("too\ndeep"), MemoryError()])
def test_a_defect_is_one_clear_line(cli: Cli, engine: fake.Engine, tree: Path, error: Exception) -> None:
    engine.raises = lambda: error
    ran = cli("check")
    assert (ran.code, ran.out) == (2, "")
    said, where, summary = ran.err.splitlines()
    assert said.startswith(f"error: internal error in the analysis: {type(error).__name__}")
    assert "please report it" in where
    assert summary == "Nothing was found in 2 files before something went wrong. Incomplete: 1 error above."


def test_interruption(cli: Cli, engine: fake.Engine, tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    engine.raises = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        cli("check")
    assert capfd.readouterr().err.strip() == "error: interrupted"


def test_debug_shows_the_traceback(cli: Cli, engine: fake.Engine, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSDP2_LINT_DEBUG", "1")
    engine.raises = lambda: KeyError("x")
    with pytest.raises(KeyError):
        cli("check")
