"""Settings of a project, and the torch that it targets: flag, setting, pin, newest."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.errors import BadSetting
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.settings import Settings, settings, settings_in
from fsdp2_lint.static.frontend.pins import pinned_torch
from fsdp2_lint.vocab.behaviour import about_root
from fsdp2_lint.vocab.target import NEWEST, OLDEST, in_words, parse

PROGRAM = "from torch.distributed._composable.fsdp import fully_shard\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.fsdp2-lint]\ntarget-torch = "2.8"\n'),
        ("fsdp2-lint.toml", 'target-torch = "2.8.1"\n'),
        ("../fsdp2-lint.toml", 'target-torch = "2.8"\n'),
    ],
)
def test_where_settings_are(project: Path, name: str, text: str) -> None:
    inner = project / "inner"
    inner.mkdir()
    (inner / name).write_text(text)
    assert settings(str(inner)) == Settings(target_torch=(2, 8))


def test_the_nearest_folder_counts_alone(project: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    (project / "fsdp2-lint.toml").write_text('target-torch = "2.6"\n')
    assert settings(str(inner)).target_torch == (2, 6)
    (inner / "pyproject.toml").write_text("[tool.fsdp2-lint]\n")
    assert settings(str(inner)) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('target_torch = "2.8"\n', "unknown setting 'target_torch'; did you mean target-torch?"),
        ("zzz = 1\n", "unknown setting 'zzz' (known: select, extend-select, "),
        ("target-torch = 2.10\n", 'target-torch: has to be text, such as "2.8", and is 2.1'),
        ('target-torch = "newest"\n', "target-torch: 'newest' is not a version of torch (expected, for example, 2.8)"),
        ("target-torch = '9.9'\n", "target-torch: torch 9.9 is not known (known: 2.5 to 2.15)\n"),
        ("target-torch = '1.9.1'\n", "target-torch: torch 1.9 is not known (known: 2.5 to 2.15)\n"),
        ("target-torch = '2.05'\n", "target-torch: '2.05' is not a version of torch (expected, for example, 2.8)\n"),
        ("target-torch = \n", "Invalid value"),
        ("exclude = 'legacy'\n", "exclude: has to be a list of text, and is 'legacy'"),
        (
            "exclude = ['legacy\\*']\n",
            r"exclude: has to be a pattern as in .gitignore files, below this folder and with /",
        ),
        ("select = ['FSDP699']\n", "select: unknown code or name 'FSDP699'; did you mean "),
        ("extend-select = ['F']\n", "extend-select: 'F' is not a rule"),
        ("ignore = ['E501']\n", "ignore: 'E501' is not a rule\n"),
        (
            "ignore = ['FSDP601,FSDP602']\n",
            "ignore: 'FSDP601,FSDP602' contains several codes: each is a text of its own\n",
        ),
        ("ignore = ['FDSP601']\n", "ignore: unknown code or name 'FDSP601'; did you mean FSDP601?\n"),
        (
            "ignore = ['naive-torch-sav']\n",
            "ignore: unknown code or name 'naive-torch-sav'; did you mean naive-torch-save?",
        ),
        ("severity = { FSDP699 = 'error' }\n", "severity: unknown code or name 'FSDP699'"),
        ("severity.FSDP601 = 'fatal'\n", "severity: 'FSDP601': has to be one of error, warning, info, and is 'fatal'"),
        ("per-file-ignores = { 'a/*' = ['FSDP699'] }\n", "per-file-ignores: 'a/*': unknown code or name 'FSDP699'"),
        (
            "per-file-ignores = { '[' = ['FSDP6'] }\n",
            "per-file-ignores: '[': has to be a pattern as in .gitignore files",
        ),
        ("per-file-ignores = ['FSDP6']\n", 'per-file-ignores: has to be a table of patterns, such as "legacy/*"'),
        (
            "entry-points = ['train:main']\n",
            "entry-points: has to hold files, or functions in them, such as train.py:main",
        ),
        ("entry-points = ['gone.py:main']\n", "entry-points: there is no file gone.py"),
        ("source-roots = ['train.py']\n", "source-roots: there is no folder train.py"),
        ("baseline = 'gone.json'\n", "gone.json: there is no such baseline; --update-baseline writes it"),
    ],
)
@pytest.mark.parametrize("program", [PROGRAM, "x = 1\n"])
def test_what_is_wrong_is_one_line_and_exit_code_2(
    project: Path, text: str, words: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "fsdp2-lint.toml").write_text(text)
    (project / "train.py").write_text(program)
    assert invoke(["check", "--exit-zero", str(project)]) == 2, "also where there is nothing to find"
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: {project}") and said.err.count("\n") == 1
    assert words in said.err


def test_a_file_that_may_not_be_read_is_not_passed_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(path: Path, most: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "fsdp2_lint.settings.read", closed
    )  # whoever runs the tests may be root, who may read everything
    with pytest.raises(BadSetting, match="pyproject.toml: cannot be read: Permission denied"):
        settings(str(project))
    (project / "pyproject.toml").unlink()
    assert settings(str(project)) == Settings(), "there is none, and only the folder may not be looked into"


def test_a_byte_order_mark_and_line_ends_of_windows_do_no_harm(project: Path) -> None:
    (project / "fsdp2-lint.toml").write_bytes(b'\xef\xbb\xbfselect = ["FSDP6"]\r\nzero2 = true\r\n')
    assert settings(str(project)) == Settings(select=("FSDP6",), zero2=True)


def test_the_tables_of_other_tools_are_their_affair(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.ruff\n")
    assert settings(str(project)) == Settings()
    (project / "pyproject.toml").write_text('tool = "fsdp2-lint"\n')
    assert settings(str(project)) == Settings()
    (project / "pyproject.toml").write_text("[tool]\nfsdp2-lint = 1\n")
    with pytest.raises(BadSetting, match=r"tool.fsdp2-lint has to be a table"):
        settings(str(project))


def test_codes_are_accepted_in_any_case_and_by_name(project: Path) -> None:
    (project / "fsdp2-lint.toml").write_text("""\
select = ["fsdp9", "private-import-path", "all"]
extend-select = ["Fsdp907"]
ignore = ["unused-suppression"]
per-file-ignores = { "a/*" = ["private-import-path"] }
severity = { private-import-path = "error", fsdp6 = "info" }
""")
    assert settings(str(project)) == Settings(
        select=("FSDP9", "FSDP901", "ALL"),
        extend_select=("FSDP907",),
        ignore=("FSDP001",),
        per_file_ignores=(("a/*", ("FSDP901",)),),
        severity=(("FSDP901", "error"), ("FSDP6", "info")),
    )
    assert [each.severity.value for each in lint([str(project)]).findings] == ["error"]


def test_patterns_may_begin_as_paths_do(project: Path) -> None:
    (project / "legacy").mkdir()
    (project / "legacy" / "train.py").write_text(PROGRAM)
    (project / "fsdp2-lint.toml").write_text('exclude = ["./legacy"]\nper-file-ignores = {"./train.py" = ["FSDP9"]}\n')
    report = lint([str(project)])
    assert (report.files, report.findings) == ([str(project / "train.py")], [])
    assert len(report.set_aside) == 1


def test_the_own_file_goes_before_the_shared_one(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.fsdp2-lint]\nzero2 = true\n")
    (project / "fsdp2-lint.toml").write_text("")
    assert settings(str(project)) == Settings()


def test_settings_below_the_project_hold_for_what_is_below_them(project: Path) -> None:
    inner = project / "examples"
    inner.mkdir()
    (inner / "old.py").write_text(PROGRAM)
    (inner / "fsdp2-lint.toml").write_text('ignore = ["FSDP901"]\n')
    assert lint([str(inner)]).settings.ignore == ("FSDP901",)
    assert lint([str(inner / "old.py")]).findings == []
    assert lint([str(inner), str(project / "train.py")]).settings == Settings(), "they do not hold for all of it"


def test_a_file_that_is_named_counts_where_it_is_named(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    shared = tmp_path_factory.mktemp("elsewhere") / "strict.toml"
    shared.write_text('exclude = ["legacy"]\n')
    (project / "legacy").mkdir()
    (project / "legacy" / "old.py").touch()
    (project / "lint.toml").symlink_to(shared)
    link = shared.parent / "link"
    link.symlink_to(project)
    for name in (project / "lint.toml", link / "lint.toml", link / "legacy" / ".." / "lint.toml"):
        found = lint([str(project)], Asked(settings=settings_in(name)))
        assert found.files == [str(project / "train.py")], name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch==2.6.0\n", (2, 6)),
        ("torch == 2.5.1+cu121\nnumpy\n", (2, 5)),
        ("torch~=2.7.0\n", (2, 7)),
        ("torch~=2.7\n", None),
        ("torch>=2.6\n", None),
        ("torchvision==0.21\npytorch-lightning==2.5\n", None),
    ],
)
def test_exact_pins(tmp_path: Path, text: str, found: tuple[int, int] | None) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    assert pinned_torch(tmp_path) == found


def test_pins_that_disagree_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    (tmp_path / "requirements-dev.txt").write_text("torch==2.8.0\n")
    assert pinned_torch(tmp_path) is None


def test_flag_before_setting_before_pin(project: Path) -> None:
    assert lint([str(project)]).target == NEWEST
    (project / "requirements.txt").write_text("torch==2.5.1\n")
    pinned = lint([str(project)])
    assert (pinned.target, pinned.findings) == ((2, 5), []), "torch 2.5 has the private path only"
    (project / "fsdp2-lint.toml").write_text('target-torch = "2.6"\n')
    stated = lint([str(project)])
    assert (stated.target, [each.code for each in stated.findings]) == ((2, 6), ["FSDP901"])
    given = lint([str(project)], Asked(target=(2, 4)))
    assert (given.target, given.findings) == ((2, 4), [])


def test_the_flag(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "--target-torch", "2.5", str(project)]) == 0
    assert invoke(["check", "--target-torch", "2.13", str(project)]) == 1
    capsys.readouterr()
    assert invoke(["check", "--target-torch", "two", str(project)]) == 2
    said = "error: --target-torch: 'two' is not a version of torch (expected, for example, 2.8)\n"
    assert capsys.readouterr().err == said
    for version, named in (("99.1", "99.1"), ("2.16.0+cu130", "2.16"), ("2.4", "2.4"), ("1.9", "1.9")):
        assert invoke(["check", "--target-torch", version, str(project)]) == 2
        told = f"error: --target-torch: torch {named} is not known (known: 2.5 to 2.15)\n"
        assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize(("pin", "target"), [("2.99.1", NEWEST), ("3.0", NEWEST), ("2.4.1", OLDEST), ("1.13", OLDEST)])
def test_for_a_pin_that_is_not_known_the_nearest_counts_and_that_is_said(
    project: Path, pin: str, target: tuple[int, int]
) -> None:
    (project / "requirements.txt").write_text(f"torch=={pin}\n")
    (project / "helper.py").write_text("x = 1  # fsdp2-lint: ignore[FSDP601]\n")
    own = in_words(parse(pin))
    report = lint([str(project)])
    assert report.target == target and not report.all_judged
    said, unneeded = report.notes
    assert said == f"{own}, which the project pins, is not known (2.5 to 2.15): judged for {in_words(target)}"
    assert unneeded.endswith(said), "what seems not to be needed may be needed there"
    asked = lint([str(project)], Asked(target=target))
    (unneeded,) = asked.notes
    assert unneeded.endswith(f"the project is for {own} and this run for {in_words(target)}")
    (project / "fsdp2-lint.toml").write_text('target-torch = "2.8"\n')
    assert lint([str(project)]).notes == []


@pytest.mark.parametrize("text", ["2.13", "2.13.0", "2.13.0+cpu", "2.13.0a0+git123", "2.13rc1", " 2.13 "])
def test_versions(text: str) -> None:
    assert parse(text) == (2, 13)


def test_findings_speak_of_the_target() -> None:
    assert about_root((2, 8)) == ""
    assert about_root((2, 7)) == "; torch 2.7 ignores reshard_after_forward=True on the root"


def test_what_is_meant_is_not_reported(project: Path) -> None:
    """ZeRO-2 on purpose: nothing else could tell that from a mistake."""
    (project / "train.py").write_text(ZERO2)
    assert [finding.code for finding in lint([str(project)]).findings] == ["FSDP312"]
    (project / "fsdp2-lint.toml").write_text("zero2 = true\n")
    assert lint([str(project)]).findings == []
    (project / "fsdp2-lint.toml").write_text("zero2 = 2\n")
    with pytest.raises(BadSetting, match="zero2: has to be true or false"):
        lint([str(project)])


ZERO2 = """\
import torch.nn as nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def main():
    model = Net()
    for block in model.blocks:
        fully_shard(block, reshard_after_forward=False)
    fully_shard(model)


main()
"""
