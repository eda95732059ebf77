"""Pages of rules, and what programs take out of them: their sections, paragraphs and lists."""

from __future__ import annotations

import re
import sys

from fsdp2_lint.catalogue import registry
from fsdp2_lint.catalogue.codes import ALL, OWN_CODES, PREFIX, UNUSED, canonical, named
from fsdp2_lint.errors import UnknownCode

# -- pages of the tool's own codes: what it says of files, and of comments that are meant for it
INVALID, *_ = OWN_CODES
_TEXTS = {
    INVALID: f"""\
Python cannot parse the file, so no rule of the contract was judged in it. A file that is named is always parsed; of a
folder, only the files that may lead to FSDP2 are.

fsdp2-lint parses with the Python that it runs on, here {sys.version_info.major}.{sys.version_info.minor}.
Syntax of newer versions, up to 3.15, is not a finding: most of it is read all the same, and of the rest a warning
says which Python reads it. If the file is of a Python that is newer still, install fsdp2-lint under that Python, or set
`language_version` for the pre-commit hook.

This code cannot be silenced by a comment: comments of a file that is not Python have no place.
""",
    UNUSED: """\
A comment silences a code of this tool, and nothing is found that it silences. Or it is meant for this tool, begins with
`# fsdp2-lint:` or with `# noqa:` and a misspelt code or name, and silences nothing, since it is not understood or names
a code that does not exist. Nor does `# noqa FSDP601`, without a
colon, silence anything: it would be every code.

## Why it matters

A comment that is not needed will hide the fault when somebody brings it in later. One that is not understood does not
do what its writer meant.

## How to fix

Remove the comment, or those of its codes that are not needed. `fsdp2-lint check --fix` does so. A comment that is not
understood is removed by `--unsafe-fixes` only: write `# fsdp2-lint: ignore[CODE] reason`, or `ignore-file[CODE]`, with
codes or names of rules in the brackets. Where only the colon behind `noqa` is missing, `--unsafe-fixes` writes it.

## What does not count

- Comments without codes (`# noqa`), and codes of other tools behind `# noqa`.
- Codes that were not judged: because they were not selected, or only a running job can tell.
- Anything, if not every program could be judged that the file is a part of: a file could not be read, the budget ran
  out, nothing says where the project begins. Something may have been missed; a warning says why.
""",
}
PAGES = {code: f"# {code}: {OWN_CODES[code]}\n\n{text}" for code, text in _TEXTS.items()}


_CODE = re.compile(r"^```.*\n((?:.*\n)*?)```$", re.MULTILINE)
_SHORT = ("Why it matters", "How to fix", "Wrong fixes", "What does not count")
_ITEM = re.compile(r"^(?:- |\d+\. )", re.MULTILINE)


def page_of(code: str) -> str:
    """The Markdown page of a rule, or of one of the tool's own codes, by code or name.

    A code that does not exist raises :class:`UnknownCode`.
    """
    own = PAGES.get(canonical(code) or "")
    return own if own is not None else registry.page(registry.rule(code))


def listed(prefix: str) -> str:
    """The codes with a prefix, a line each, under a title; nothing where it is one code, or none."""
    known = canonical(prefix)
    begin = PREFIX if known == ALL else known
    if begin is None or begin in named().values():
        return ""
    lines = sorted(f"- {code} {name}" for name, code in named().items() if code.startswith(begin))
    title = f"# {known} stands for all rules:" if known == ALL else f"# {known} is a prefix; the rules are:"
    return "\n".join([f"{title}\n", *lines]) + "\n"


def page_if_any(code: str) -> str:
    """The page, or nothing: findings of a job may come from another version of this tool."""
    try:
        return page_of(code)
    except UnknownCode:
        return ""


def section(page: str, title: str) -> str:
    """What stands under ``## title``, or nothing. The empty title is the rule itself, above all sections."""
    inside, fenced = not title, False
    taken = []
    for line in page.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            inside = line[3:].strip() == title
        elif inside and (fenced or not line.startswith("# ")):
            taken.append(line)
    return "\n".join(taken).strip("\n")


def in_short(page: str) -> str:
    """About a screen of it: the rule, why, how to fix it and how not, and what does not count."""
    title = page.partition("\n")[0]
    parts = [f"## {name}\n\n{text}" for name in _SHORT if (text := section(page, name))]
    return "\n\n".join([title, section(page, ""), *parts]) + "\n"


def items(page: str, title: str) -> list[str]:
    """The items of the lists in a section, each on one line."""
    prose = _CODE.sub("", section(page, title))
    return [_one_line(item) for block in _blocks(prose) for item in _ITEM.split(block)[1:]]


def paragraphs(page: str, title: str) -> list[str]:
    """The paragraphs and list items of a section, each on one line, up to its first subheading.

    Code stands, without its fences, on further lines of what introduces it. A table is one paragraph.
    """
    told: list[str] = []
    for number, part in enumerate(_CODE.split(section(page, title).partition("\n### ")[0])):
        if number % 2:  # what the pattern holds: code
            told[-1:] = ["\n".join([*told[-1:], part.rstrip("\n")])]
            continue
        for block in _blocks(part):
            told += [block] if block.startswith("|") else filter(None, map(_one_line, _ITEM.split(block)))
    return told


def _blocks(text: str) -> list[str]:
    return [block.strip("\n") for block in text.split("\n\n")]


def _one_line(text: str) -> str:
    return " ".join(text.split())
