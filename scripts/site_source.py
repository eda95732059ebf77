"""What the site is built from: ``docs/`` with the pages of the rules, made from ``rules/``, and links to them.

It is plain Markdown with one configuration, so the generator of the site can be another one at any time:
CONTRIBUTING.md says which it is, and why. The pages are written for ``explain`` and for the tests that run their
examples; here they only get what a browser can show: titles of files, marked lines, links.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the pages of this checkout, whatever is installed

from fsdp2_lint.catalogue import registry  # noqa: E402
from fsdp2_lint.catalogue.codes import OWN_CODES  # noqa: E402
from fsdp2_lint.catalogue.examples import with_whole_programs  # noqa: E402
from fsdp2_lint.catalogue.pages import PAGES  # noqa: E402
from fsdp2_lint.output.catalogue import HUNDREDS  # noqa: E402
from fsdp2_lint.settings.schema import ID, schema  # noqa: E402
from fsdp2_lint.vocab.rule import Rule  # noqa: E402

FOLDER = "rules/"
NAMES = {**OWN_CODES, **{rule.code: rule.name for rule in registry.rules()}}
JUDGES = {"S": "the analysis of the source", "R": "the monitor of a running job", "P": "a rehearsal"}
# What of the repository pages lead to, for readers on GitHub, and where the site has it.
ELSEWHERE = {"../rules/README.md": f"{FOLDER}index.md", "../fsdp2_lint/settings/schema.json": "settings.schema.json"}
LISTED = """# The rules

Each rule has a page here, which `fsdp2-lint explain CODE` prints too. It is judged by **S** the
[analysis of the source](../how-the-proof-works.md), **R** the [monitor of a running job](../runtime.md), **P** a
[rehearsal](../preflight.md) in one process.
"""

_FENCE = re.compile(r"(?:^`(?P<title>[^`\n]+)`:\n\n)?^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"# (?:error|warning|info|related): \[FSDP\d{3}\]")
# What a code name is not linked in: blocks and spans of code, headings, links.
_AS_IS = re.compile(r"(^```.*?^```$|`[^`]+`|^#+ .*?$|\[[^\]]*\]\([^)]*\))", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(### (?:Bad|Good): .*)$", re.MULTILINE)
# Examples repeat one small model, so a search would find all of them for any word of it.
_UNSEARCHED = 'data-search-exclude=""'
_CODE = re.compile(r"\bFSDP\d{3}\b")


def write(folder: Path) -> None:
    """All that a generator needs, into ``folder``: ``mkdocs.yml``, ``docs/`` and what is changed of the theme."""
    docs = folder / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs)
    for path in sorted(docs.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for there, here in ELSEWHERE.items():
            text = text.replace(f"]({there})", f"]({here})")
        path.write_text(linked(text, FOLDER, own=path.name), encoding="utf-8")
    (docs / FOLDER).mkdir()
    for name, text in rules():
        own = f"{FOLDER}{name}.md"
        (docs / own).write_text(linked(examples(with_whole_programs(text)), "", own), encoding="utf-8")
    config = configuration()
    theme = config["theme"]["custom_dir"]
    shutil.copytree(ROOT / theme, folder / theme, dirs_exist_ok=True)
    (docs / ID.removeprefix(config["site_url"])).write_text(json.dumps(schema(), indent=2))  # editors fetch it there
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def configuration() -> dict[str, Any]:
    """That of the checkout, with the rules last in the navigation, by hundreds."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    groups = [
        {f"{hundred}xx {title}": [_entry(rule.code) for rule in registry.rules() if rule.code[4] == hundred]}
        for hundred, title in HUNDREDS.items()
    ]
    own = {"0xx The tool itself": [_entry(code) for code in OWN_CODES]}
    config["nav"].append({"Rules": [f"{FOLDER}index.md", *groups, own]})
    return config


def rules() -> Iterator[tuple[str, str]]:
    """The name of each page, and its text."""
    for rule in registry.rules():
        yield rule.name, with_head(registry.page(rule), rule)
    for code, name in OWN_CODES.items():
        yield name, re.sub(r", here [0-9.]+", "", PAGES[code])
    yield "index", listing((ROOT / "rules" / "README.md").read_text(encoding="utf-8"))


def with_head(text: str, rule: Rule) -> str:
    """Under the title: how bad it is and who sees it, as in the list of rules."""
    title, rest = text.split("\n", 1)
    *most, last = [JUDGES[letter] for letter in rule.judged_by]
    judges = f"{', '.join(most)} and {last}" if most else last
    return f"{title}\n\n*Severity: {rule.severity.value}. Judged by {judges}.*\n{rest}"


def listing(text: str) -> str:
    """The list of rules, with links to pages, and with what matters most on the left: a phone shows no more."""
    text = re.sub(r"\]\(\w+/(\w+)\.md\)", lambda match: f"]({match[1].replace('_', '-')}.md)", text)
    text = re.sub(r"^(\|.*?\|.*?)(\| .*? \| .*? )(\| .*) \|$", r"\1\3 \2|", text, flags=re.MULTILINE)
    return LISTED + text[text.index("\n## ") :]


def examples(text: str) -> str:
    """Blocks of Python get the name of their file, and the lines that the tests mark are marked."""

    def block(match: re.Match[str]) -> str:
        rows = [str(row) for row, line in enumerate(match["code"].splitlines(), 1) if _MARK.search(line)]
        title = f' title="{match["title"]}"' if match["title"] else ""
        marked = f' hl_lines="{" ".join(rows)}"' if rows else ""
        return f"```{{.python{title}{marked} {_UNSEARCHED}}}\n{match['code']}```"

    return _FENCE.sub(block, _HEADING.sub(rf"\1 {{ {_UNSEARCHED} }}", text))


def linked(text: str, folder: str, own: str) -> str:
    """Each code in prose leads to its page, but not from that page itself."""

    def link(match: re.Match[str]) -> str:
        name = NAMES.get(match[0])
        return f"[{match[0]}]({folder}{name}.md)" if name and f"{FOLDER}{name}.md" != own else match[0]

    parts = _AS_IS.split(text)
    parts[::2] = [_CODE.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def _entry(code: str) -> dict[str, str]:
    return {f"{code} {NAMES[code]}": f"{FOLDER}{NAMES[code]}.md"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where mkdocs.yml and docs/ are written")
    write(parser.parse_args().folder)
