"""The site: what its pages are made of, and, where the docs extra is installed, that it can be built and is whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
import yaml

from fsdp2_lint.catalogue import registry
from scripts import site_source

CONFIG = yaml.safe_load((site_source.ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def test_codes_in_prose_become_links() -> None:
    text = "# FSDP601\n\nSee FSDP601, `FSDP602`, FSDP999 and [FSDP603](x).\n\n```\nFSDP604\n```\n"
    linked = "See [FSDP601](rules/optimizer-before-sharding.md), `FSDP602`, FSDP999"
    assert site_source.linked(text, "rules/", "index.md") == text.replace("See FSDP601, `FSDP602`, FSDP999", linked)
    assert site_source.linked(text, "", "rules/optimizer-before-sharding.md") == text


def test_examples_get_names_and_marks_and_are_not_searched() -> None:
    text = "### Bad: b\n\n`model.py`:\n\n```python\na = 1\nb = 2  # error: [FSDP601]\n```\n\n```python\nc = 3\n```\n"
    assert site_source.examples(text) == (
        '### Bad: b { data-search-exclude="" }\n\n'
        '```{.python title="model.py" hl_lines="2" data-search-exclude=""}\na = 1\nb = 2  # error: [FSDP601]\n```\n\n'
        '```{.python data-search-exclude=""}\nc = 3\n```\n'
    )


def test_each_page_is_in_the_navigation(tmp_path: Path) -> None:
    site_source.write(tmp_path)
    written = {path.relative_to(tmp_path / "docs").as_posix() for path in (tmp_path / "docs").rglob("*.md")}
    nav = yaml.safe_load((tmp_path / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert set(leaves(nav)) == written


def test_each_page_leads_to_files_of_the_site(tmp_path: Path) -> None:
    """Not to those of the repository, which pages name for readers there."""
    site_source.write(tmp_path)
    docs = tmp_path / "docs"
    for page in docs.glob("*.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            there = (page.parent / target).resolve()
            assert there.is_relative_to(docs.resolve()) and there.is_file(), f"{page.name}: {target}"


def leaves(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict | list):
        for each in entry.values() if isinstance(entry, dict) else entry:
            yield from leaves(each)


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
    pytest.importorskip("zensical", reason="needs the docs extra")
    folder = tmp_path_factory.mktemp("site")
    site_source.write(folder)
    ran = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", folder / "mkdocs.yml"],
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder / "site"


def html(site: Path) -> Iterator[tuple[str, Links]]:
    """The address of each page below the site's own, and what is in it."""
    for path in sorted(site.rglob("*.html")):
        yield path.relative_to(site).as_posix(), Links(path.read_text(encoding="utf-8"))


@pytest.mark.site
def test_the_site_is_complete(site: Path) -> None:
    for name in ("invalid-syntax", "unused-suppression", *(rule.name for rule in registry.rules())):
        assert (site / "rules" / name / "index.html").is_file()
    assert (site / "settings.schema.json").is_file()


@pytest.mark.site
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


@pytest.mark.site
def test_each_page_links_to_the_repository_and_asks_nothing_of_it(site: Path) -> None:
    for name, page in html(site):
        assert CONFIG["repo_url"] in page.links, name
        assert 'data-md-component="source"' not in (site / name).read_text("utf-8"), f"{name} asks GitHub's API"


@pytest.mark.site
def test_the_search_leaves_out_examples(site: Path) -> None:
    """All of them repeat one small model."""
    found = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    assert not [item["location"] for item in found if item["title"].startswith(("Bad: ", "Good: "))]
    assert not [item["location"] for item in found if "class Net(nn.Module):" in item["text"]]
