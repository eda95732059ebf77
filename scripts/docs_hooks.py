"""Hooks of MkDocs: the pages of the clauses, made from ``rules/``, and links from codes to them.

The pages are written for ``explain`` and for the tests that run their examples; here they only get what a browser
can show: titles of files, marked lines, links.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the pages of this checkout, whatever is installed

from mkdocs.structure.files import File  # noqa: E402

from fsdp2_lint.catalogue import registry  # noqa: E402
from fsdp2_lint.catalogue.codes import OWN_CODES  # noqa: E402
from fsdp2_lint.catalogue.examples import with_whole_programs  # noqa: E402
from fsdp2_lint.catalogue.own import PAGES  # noqa: E402
from fsdp2_lint.output.catalogue import HUNDREDS  # noqa: E402
from fsdp2_lint.settings import Settings  # noqa: E402
from fsdp2_lint.settings.keys import KEYS  # noqa: E402
from fsdp2_lint.settings.schema import ID, schema  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from fsdp2_lint.vocab.rule import Rule

FOLDER = "rules/"
NAMES = {**OWN_CODES, **{rule.code: rule.name for rule in registry.rules()}}
WITNESSES = {"S": "the source", "R": "a running job"}
_KINDS = {"array": "list of text", "object": "table", "boolean": "true or false", "string": "text"}
_DEFAULTS = {"array": "`[]`", "object": "`{}`", "boolean": "", "string": "none"}
SETTINGS_TABLE = "<!-- the table of settings -->"
LISTED = """# The clauses

Each clause has a page here, which `fsdp2-lint explain CODE` prints too. Its witnesses: **S** the source, **R** a
running job, **P** a rehearsal in one process, for which there is no command yet.
"""

_FENCE = re.compile(r"(?:^`(?P<title>[^`\n]+)`:\n\n)?^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"# (?:error|warning|info|related): \[FSDP\d{3}\]")
# What a code name is not linked in: blocks and spans of code, headings, links.
_AS_IS = re.compile(r"(^```.*?^```$|`[^`]+`|^#+ .*?$|\[[^\]]*\]\([^)]*\))", re.DOTALL | re.MULTILINE)
_EXAMPLE = re.compile(r'<(?:h3|div)(?= (?:class="[^"]*\bhighlight\b|id="(?:bad|good)-))')
_CODE = re.compile(r"\bFSDP\d{3}\b")


def on_config(config: MkDocsConfig) -> None:
    """The clauses come last in the navigation, by hundreds."""
    own = [_entry(code) for code in OWN_CODES]
    groups = [
        {f"{hundred}xx {title}": [_entry(rule.code) for rule in registry.rules() if rule.code[4] == hundred]}
        for hundred, title in HUNDREDS.items()
    ]
    assert config.nav is not None, "mkdocs.yml says what is in the navigation"
    config.nav.append({"Clauses": [f"{FOLDER}index.md", *groups, {"0xx The tool itself": own}]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    pages = {rule.name: with_head(registry.page(rule), rule) for rule in registry.rules()}
    pages |= {name: re.sub(r", here [0-9.]+", "", PAGES[code]) for code, name in OWN_CODES.items()}
    pages["index"] = listing((ROOT / "rules" / "README.md").read_text(encoding="utf-8"))
    for name, text in pages.items():
        text = examples(with_whole_programs(text))
        files.append(File.generated(config, f"{FOLDER}{name}.md", content=text))
    assert config.site_url is not None, "mkdocs.yml says where the site is"
    text = json.dumps(schema(), indent=2)
    files.append(File.generated(config, ID.removeprefix(config.site_url), content=text))  # editors fetch it there


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    markdown = markdown.replace(SETTINGS_TABLE, settings_table())
    here = page.file.src_uri
    return linked(markdown, "" if here.startswith(FOLDER) else FOLDER, own=here)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Examples repeat one small model, so a search would find all of them for any word of it."""
    if page.file.src_uri.startswith(FOLDER):
        return _EXAMPLE.sub(r'\g<0> data-search-exclude=""', html)
    return html


def with_head(text: str, rule: Rule) -> str:
    """Under the title: how bad it is and who sees it, as in the list of clauses."""
    title, rest = text.split("\n", 1)
    seen = " and ".join(WITNESSES[letter] for letter in rule.witnesses if letter in WITNESSES)
    return f"{title}\n\n*Severity: {rule.severity.value}. Judged from {seen}.*\n{rest}"


def listing(text: str) -> str:
    """The list of clauses, with links to pages, and with what matters most on the left: a phone shows no more."""
    text = re.sub(r"\]\(\w+/(\w+)\.md\)", lambda match: f"]({match[1].replace('_', '-')}.md)", text)
    text = re.sub(r"^(\|.*?\|.*?)(\| .*? \| .*? )(\| .*) \|$", r"\1\3 \2|", text, flags=re.MULTILINE)
    return LISTED + text[text.index("\n## ") :]


def examples(text: str) -> str:
    """Blocks of Python get the name of their file, and the lines that the tests mark are marked."""

    def block(match: re.Match[str]) -> str:
        rows = [str(row) for row, line in enumerate(match["code"].splitlines(), 1) if _MARK.search(line)]
        title = f' title="{match["title"]}"' if match["title"] else ""
        marked = f' hl_lines="{" ".join(rows)}"' if rows else ""
        return f"```python{title}{marked}\n{match['code']}```"

    return _FENCE.sub(block, text)


def linked(text: str, folder: str, own: str) -> str:
    """Each code in prose leads to its page, but not from that page itself."""

    def link(match: re.Match[str]) -> str:
        name = NAMES.get(match[0])
        return f"[{match[0]}]({folder}{name}.md)" if name and f"{FOLDER}{name}.md" != own else match[0]

    parts = _AS_IS.split(text)
    parts[::2] = [_CODE.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def settings_table() -> str:
    """What the settings are, from the module that reads them."""
    lines = ["| key | what it does | holds | default |", "|---|---|---|---|"]
    for name, key in KEYS.items():
        default = _DEFAULTS[key.schema["type"]]
        value = getattr(Settings(), name.replace("-", "_"))
        shown = f"`{str(value).lower()}`" if isinstance(value, bool) else default
        lines.append(f"| [`{name}`](#{name}) | {key.about} | {_KINDS[key.schema['type']]} | {shown} |")
    return "\n".join(lines)


def _entry(code: str) -> dict[str, str]:
    return {f"{code} {NAMES[code]}": f"{FOLDER}{NAMES[code]}.md"}
