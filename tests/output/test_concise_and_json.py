"""The formats for programs."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from fsdp2_lint.cli import invoke
from fsdp2_lint.files.source import Sources
from fsdp2_lint.lint import lint
from fsdp2_lint.output import EMPTY_IS_TEXT, FORMATS, count, render
from fsdp2_lint.output.advice import SILENCING, verify
from fsdp2_lint.report.codec import finding_from_json
from fsdp2_lint.report.confirm import CONFIRMED, ONLY_THERE
from fsdp2_lint.vocab.finding import Finding, Observed, Severity
from tests import fake
from tests.output.conftest import any_findings

EXAMPLE = Path(__file__).parents[2] / "examples" / "broken" / "root_not_sharded"


def test_concise(story: Finding) -> None:
    assert render("concise", [story], Sources()) == (
        "train.py:4:17: FSDP601 error the optimizer holds parameters that fully_shard replaces"
        " [optimizer-before-sharding] (see pkg/parallel.py:2, /elsewhere/lib.py:7)\n"
    )


def test_json(story: Finding, tmp_path: Path) -> None:
    (one,) = json.loads(render("json", [story], Sources()))
    assert one == {
        "version": 1,
        "code": "FSDP601",
        "name": "optimizer-before-sharding",
        "severity": "error",
        "message": "the optimizer holds parameters that fully_shard replaces",
        "filename": str(tmp_path / "train.py"),
        "location": {"row": 4, "column": 17},
        "end_location": {"row": 4, "column": 42},
        "related": [
            {
                "message": "replaces them",
                "filename": str(tmp_path / "pkg" / "parallel.py"),
                "location": {"row": 2, "column": 5},
                "end_location": {"row": 3, "column": 6},
            },
            {
                "message": "called here",
                "filename": "/elsewhere/lib.py",
                "location": {"row": 7, "column": 1},
                "end_location": {"row": 7, "column": 1},
            },
        ],
        "help": "build it after the last fully_shard",
        "fix": None,
        "url": story.url,
        "remediation": [
            "train.py:4: build it after the last fully_shard",
            "Build the optimizer after the last `fully_shard` call. Build parameter groups there too. If a framework"
            " builds the optimizer for you, call the framework's method that shards first, or use the one that takes"
            " the model and the optimizer together.",
            "`fsdp2-lint check --fix --unsafe-fixes` moves the optimizer's statement behind the last one that shards,"
            " if both are in the same block and nothing in between needs the optimizer.",
        ],
        "do_not": [
            "Do not call `optimizer.add_param_group` with the new parameters: the dead ones stay in the optimizer.",
            "Do not copy the old values into the new parameters before each step: the optimizer's state still belongs"
            " to the old.",
            "Do not call `model.zero_grad()` instead of `optimizer.zero_grad()`: the gradients stop growing, and still"
            " nothing is updated.",
            SILENCING,
        ],
        "verify": "fsdp2-lint check --select FSDP601 .",
    }


def test_fix_and_fingerprint(mended: Finding) -> None:
    (one,) = json.loads(render("json", [mended], Sources()))
    assert one["fingerprint"] == "f00d"
    assert (one["fix"]["safe"], one["fix"]["applicability"]) == (True, "safe")
    assert one["fix"]["edits"][0]["content"] == "from torch.distributed.fsdp import fully_shard"
    assert mended.fix is not None
    (one,) = json.loads(render("json", [replace(mended, fix=replace(mended.fix, safe=False))], Sources()))
    assert (one["fix"]["safe"], one["fix"]["applicability"]) == (False, "unsafe")


def test_json_lines(story: Finding, mended: Finding) -> None:
    lines = render("json-lines", [story, mended], Sources()).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(render("json", [story, mended], Sources()))
    assert render("json-lines", [], Sources()) == ""


@pytest.mark.parametrize(
    ("code", "path", "command"),
    [
        ("FSDP601", "train.py", "check --select FSDP601 ."),
        ("FSDP601", "my code/train.py", "check --select FSDP601 ."),
        ("FSDP601", "my project/src/train.py", "check --select FSDP601 'my project'"),
        ("FSDP601", "/elsewhere/lib.py", "check --select FSDP601 /elsewhere"),
        ("FSDP000", "my project/src/train.py", "check --select FSDP000 'my project/src/train.py'"),
        ("FSDP001", "my project/src/train.py", "check 'my project'"),
    ],
)
def test_the_command_that_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, path: str, command: str
) -> None:
    (tmp_path / "my project").mkdir()
    (tmp_path / "my project" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    assert verify(fake.finding(fake.site(tmp_path / path, 1), code=code)) == f"fsdp2-lint {command}"


def test_the_command_finds_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    (finding,) = lint(["."]).findings
    assert invoke(shlex.split(verify(finding))[1:]) == 1
    assert finding.code in capfd.readouterr().out


def test_what_only_a_job_sees_is_verified_by_a_job(story: Finding) -> None:
    seen = replace(story, observed=Observed((0,)))
    job = "fsdp2-lint run --check SCRIPT"
    assert verify(seen) == verify(replace(seen, standing=f"{ONLY_THERE} at run time")) == job
    assert verify(replace(seen, standing=f"{CONFIRMED} at run time")) == "fsdp2-lint check --select FSDP601 ."


def test_a_code_of_another_version_has_no_page(story: Finding) -> None:
    (one,) = json.loads(render("json", [replace(story, code="FSDP999")], Sources()))
    assert one["remediation"] == ["train.py:4: build it after the last fully_shard"]
    assert one["do_not"] == [SILENCING]


@given(any_findings)
def test_any_finding_is_json(found: list[Finding]) -> None:
    told = json.loads(render("json", found, Sources()))
    assert [json.loads(line) for line in render("json-lines", found, Sources()).split("\n")[:-1]] == told
    for finding, values in zip(found, told):
        back = finding_from_json(values)
        assert (back.message, back.help, back.key, back.fingerprint) == (
            finding.message,
            finding.help,
            finding.key,
            finding.fingerprint,
        )


@pytest.mark.parametrize("name", FORMATS)
def test_no_findings(name: str) -> None:
    text = render(name, [], Sources())
    assert bool(text) == (name in EMPTY_IS_TEXT) and text.endswith("\n" if text else "")


def test_no_findings_are_an_empty_list() -> None:
    assert render("json", [], Sources()) == "[]\n"


def test_count() -> None:
    at = fake.site("/a.py", 1)
    each = {severity: fake.finding(at, severity=severity) for severity in Severity}
    assert count([]) == "no findings"
    assert count([each[Severity.INFO], each[Severity.ERROR], each[Severity.ERROR]]) == "2 errors, 1 info"
    assert count([each[Severity.WARNING]]) == "1 warning"
