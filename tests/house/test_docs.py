"""The documentation says what is there: pages, settings, commands, options, samples, links."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fsdp2_lint.catalogue import codes, registry
from fsdp2_lint.cli import COMMANDS, invoke, main
from fsdp2_lint.output import FORMATS
from fsdp2_lint.settings import settings
from fsdp2_lint.settings.keys import KEYS
from fsdp2_lint.settings.schema import ID
from fsdp2_lint.vocab.finding import DOCS_URL, Severity

ROOT = Path(__file__).parents[2]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
TEXT = "\n".join(PAGES.values())
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
# A call of the tool in a text, up to what ends a command there.
CALL = re.compile(rf"fsdp2[-_]lint ({'|'.join(COMMANDS)})\b((?:[^`\n|#&>\\]|\\\n)*)")


def blocks(language: str, text: str = TEXT) -> list[str]:
    return re.findall(rf"^ *```{language}[^\n]*\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)


def options(command: str) -> set[str]:
    found = main.get_command(None, command)  # type: ignore[arg-type]
    assert found is not None
    hidden = [each for each in found.params if getattr(each, "hidden", False)]
    return {name for each in found.params if each not in hidden for name in each.opts if name.startswith("--")}


def test_each_page_is_in_the_navigation() -> None:
    assert sorted(page for entry in CONFIG["nav"] for page in entry.values()) == sorted(PAGES)


def test_findings_and_settings_lead_to_the_site() -> None:
    assert f"{CONFIG['site_url']}rules/" == DOCS_URL
    assert ID == f"{CONFIG['site_url']}settings.schema.json" and ID in PAGES["settings.md"]


def test_each_setting_is_described_and_the_sample_has_all(tmp_path: Path) -> None:
    headings = re.findall(r"^### (.*)$", PAGES["settings.md"], re.MULTILINE)
    assert sorted(headings) == sorted(KEYS)
    (sample,) = [block for block in blocks("toml", PAGES["settings.md"]) if "zero2" in block]
    (tmp_path / "pyproject.toml").write_text(sample)
    read = settings(str(tmp_path))
    assert all(getattr(read, key.replace("-", "_")) for key in KEYS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_mentioned(command: str) -> None:
    assert re.search(rf"fsdp2[-_]lint {command}\b", TEXT)


@pytest.mark.parametrize("option", sorted(options("check")))
def test_each_option_of_check_is_mentioned(option: str) -> None:
    assert re.search(rf"{option}(?![\w-])", TEXT)


def test_each_format_is_described() -> None:
    table = PAGES["ci.md"].split("## All formats")[1]
    assert re.findall(r"^\| `([a-z][a-z-]+)` \|", table, re.MULTILINE) == [*FORMATS]


def test_the_changelog_names_all_formats_and_what_is_advice() -> None:
    text = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    (formats,) = re.findall(r"Output formats (.*?)\.", text)
    (advice,) = re.findall(r"Advice \((.*?)\) is off by default", text)
    assert re.findall(r"`([\w-]+)`", formats) == [*FORMATS]
    assert advice.split(", ") == [rule.code for rule in registry.rules() if rule.severity is Severity.INFO]


def test_calls_use_options_that_exist() -> None:
    calls = [match.groups() for match in CALL.finditer(TEXT)]
    assert len(calls) > 50
    for command, rest in calls:
        of_script = command in ("run", "preflight")  # what follows the script is its own
        given = re.split(r"\.py| -m ", rest)[0] if of_script else rest
        assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", given)) <= options(command), f"{command}{rest}"


def test_codes_exist() -> None:
    known = {*codes.OWN_CODES, *(rule.code for rule in registry.rules())}
    assert set(re.findall(r"\bFSDP\d{3}\b", TEXT)) <= known


@pytest.mark.quick(len(PAGES))  # each verdict that changes may be in one of them
@pytest.mark.parametrize("name", PAGES)
def test_samples_are_real(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """`…` on a line of its own stands for lines that are left out. UPDATE_DOCS=1 writes samples without one anew."""
    monkeypatch.chdir(ROOT)
    for sample in blocks("console", PAGES[name]):
        head, _, shown = sample.partition("\n")
        if "examples/" not in head:
            continue
        invoke(head.removeprefix("$ fsdp2-lint ").split())
        said = f"{capfd.readouterr().out.strip()}\n"
        if "…" in shown:
            lines = iter(said.splitlines())
            assert all(line.strip() == "…" or line in lines for line in shown.splitlines()), head
        elif os.environ.get("UPDATE_DOCS"):
            path = ROOT / "docs" / name
            path.write_text(path.read_text(encoding="utf-8").replace(sample, f"{head}\n{said}"), encoding="utf-8")
        else:
            assert said == shown, head


def test_the_quick_start_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    found, mended = blocks("python", PAGES["quick-start.md"])
    demo = Path(shutil.copytree(ROOT / "examples" / "broken" / "optimizer_before_sharding", tmp_path / "demo"))
    script = re.sub(r"  # error: .*", "", (demo / "train.py").read_text())
    assert found in script
    monkeypatch.chdir(demo)
    (demo / "train.py").write_text(script)
    invoke(["check", "--fix", "--unsafe-fixes"])
    assert (demo / "train.py").read_text() == script.replace(found, mended)
    capfd.readouterr()
    assert invoke(["check"]) == 0
    (said,) = blocks("console", PAGES["quick-start.md"])
    assert said == f"$ fsdp2-lint check\n{capfd.readouterr().err}"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_shell_completes() -> None:
    """As bash asks when the Tab key is pressed."""
    script = Path(sys.executable).with_name("fsdp2-lint")
    for words, wanted in (("fsdp2-lint ch", "check"), ("fsdp2-lint check --outp", "--output-format")):
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        asked["_FSDP2_LINT_COMPLETE"] = "bash_complete"
        ran = subprocess.run([script], env={**os.environ, **asked}, text=True, capture_output=True, timeout=60)
        assert f"plain,{wanted}" in ran.stdout, ran.stderr


def test_files_that_the_page_on_the_engine_names_are_there() -> None:
    text = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    folders = (ROOT, ROOT / "fsdp2_lint", ROOT / "fsdp2_lint" / "static")
    known = {path.name for path in (ROOT / "fsdp2_lint").rglob("*.py")}
    lost = {name for name in named if name not in known and not any((folder / name).is_file() for folder in folders)}
    assert len(named) > 30 and not lost
