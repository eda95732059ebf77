"""The documentation says what is there: pages, settings, commands, options, samples, links."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
import yaml

from fsdp2_lint.catalogue import registry
from fsdp2_lint.cli import COMMANDS, invoke, main
from fsdp2_lint.output import FORMATS
from fsdp2_lint.settings import settings
from fsdp2_lint.settings.keys import KEYS
from fsdp2_lint.settings.schema import ID
from fsdp2_lint.vocab.finding import DOCS_URL

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


def test_calls_use_options_that_exist() -> None:
    calls = [match.groups() for match in CALL.finditer(TEXT)]
    assert len(calls) > 50
    for command, rest in calls:
        given = re.split(r"\.py| -m ", rest)[0] if command == "run" else rest  # what follows the script is its own
        assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", given)) <= options(command), f"{command}{rest}"


def test_codes_exist() -> None:
    known = {*registry.OWN_CODES, *(rule.code for rule in registry.rules())}
    assert set(re.findall(r"\bFSDP\d{3}\b", TEXT)) <= known


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


# What needs MkDocs.


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    pytest.importorskip("mkdocs")
    import importlib.util

    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "scripts" / "docs_hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_codes_in_prose_become_links(hooks: ModuleType) -> None:
    text = "# FSDP601\n\nSee FSDP601, `FSDP602`, FSDP999 and [FSDP603](x).\n\n```\nFSDP604\n```\n"
    linked = "See [FSDP601](rules/optimizer-before-sharding.md), `FSDP602`, FSDP999"
    assert hooks.linked(text, "rules/", "index.md") == text.replace("See FSDP601, `FSDP602`, FSDP999", linked)
    assert hooks.linked(text, "", "rules/optimizer-before-sharding.md") == text


def test_examples_get_names_and_marks(hooks: ModuleType) -> None:
    text = "`model.py`:\n\n```python\na = 1\nb = 2  # error: [FSDP601]\n```\n\n```python\nc = 3\n```\n"
    assert hooks.examples(text) == (
        '```python title="model.py" hl_lines="2"\na = 1\nb = 2  # error: [FSDP601]\n```\n\n```python\nc = 3\n```\n'
    )


class Links(HTMLParser):
    """What a page of HTML leads to, what it loads, and what can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = {""}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return folder


def html(site: Path) -> Iterator[tuple[str, Links]]:
    """The address of each page below the site's own, and what is in it."""
    for path in sorted(site.rglob("*.html")):
        yield path.relative_to(site).as_posix(), Links(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_site_is_complete(site: Path) -> None:
    for name in ("invalid-syntax", "unused-suppression", *(rule.name for rule in registry.rules())):
        assert (site / "rules" / name / "index.html").is_file()
    assert (site / "settings.schema.json").is_file()
    assert not (site / "hooks.py").exists()


@pytest.mark.slow
def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    base = CONFIG["site_url"]
    found = dict(html(site))
    assert len(found) > 90
    for name, page in found.items():
        for link in page.loads:
            assert urljoin(base + name, link).startswith(base), f"{name} loads {link}"
        for link in page.links:
            address, fragment = urldefrag(urljoin(base + name, link))
            if not address.startswith(base):
                assert urlsplit(address).scheme == "https", f"{name}: {link}"
                continue
            target = unquote(address.removeprefix(base)) or "index.html"
            target += "index.html" if target.endswith("/") else ""
            assert (site / target).is_file(), f"{name}: {link}"
            assert target not in found or unquote(fragment) in found[target].ids, f"{name}: {link}"


def test_files_that_the_page_on_the_engine_names_are_there() -> None:
    text = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    folders = (ROOT, ROOT / "fsdp2_lint", ROOT / "fsdp2_lint" / "static")
    known = {path.name for path in (ROOT / "fsdp2_lint").rglob("*.py")}
    lost = {name for name in named if name not in known and not any((folder / name).is_file() for folder in folders)}
    assert len(named) > 30 and not lost
