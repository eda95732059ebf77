"""Pages of rules, and what programs take out of them: their sections, paragraphs and lists."""

from __future__ import annotations

import re

from fsdp2_lint.catalogue import registry
from fsdp2_lint.catalogue.codes import OWN_CODES
from fsdp2_lint.catalogue.own import PAGES
from fsdp2_lint.errors import UnknownCode

_CODE = re.compile(r"^```.*\n((?:.*\n)*?)```$", re.MULTILINE)
_SHORT = ("Why it matters", "How to fix", "Wrong fixes", "What does not count")
_ITEM = re.compile(r"^(?:- |\d+\. )", re.MULTILINE)


def page_of(code: str) -> str:
    """The Markdown page of a rule, or of one of the tool's own codes, by code or name.

    A code that does not exist raises :class:`UnknownCode`.
    """
    for own, name in OWN_CODES.items():
        if code.upper() == own or code.lower() == name:
            return PAGES[own]
    return registry.page(registry.rule(code))


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
