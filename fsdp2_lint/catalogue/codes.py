"""The codes that settings may name. Read off the pages of the rules: loading the rules takes ten times as long."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache

from fsdp2_lint.errors import likeness, nearest

PREFIX, ALL = "FSDP", "ALL"
# What the tool says of files and of its own comments.
OWN_CODES: Mapping[str, str] = {"FSDP000": "invalid-syntax", "FSDP001": "unused-suppression"}
_, UNUSED = OWN_CODES
_LIKE_A_CODE = re.compile(r"([A-Za-z]+)[0-9]*")
_DIGITS = str.maketrans("OIL", "011")  # which look alike
_ALIKE = 0.6  # FDSP601 is a slip, PLR0913 belongs to another tool


@cache
def selectable() -> tuple[str, ...]:
    """Every code, every prefix of one from ``FSDP`` on, and ``ALL``; sorted."""
    codes = {*named().values()}
    prefixes = {code[:length] for code in codes for length in range(len(PREFIX), len(code))}
    return tuple(sorted(codes | prefixes | {ALL}))


@cache
def page_files() -> tuple[str, ...]:
    """The pages of the rules: each lies beside its module, in the folder of its hundred."""
    (folder, *_) = importlib.import_module("fsdp2_lint.rules").__path__
    topics = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
    return tuple(
        os.path.join(topic, file)
        for topic in sorted(topics)
        for file in sorted(os.listdir(topic))
        if file.endswith(".md")
    )


@cache
def named() -> Mapping[str, str]:
    """The codes by their names, sorted. A page begins with ``# FSDP601: optimizer-before-sharding``."""
    found = {name: code for code, name in OWN_CODES.items()}
    for path in page_files():
        with open(path, encoding="utf-8") as page:
            code, _, name = page.readline()[2:].partition(":")
        found[name.strip()] = code
    return dict(sorted(found.items()))


def selected(values: Sequence[str]) -> list[str] | None:
    """``--select ""`` selects nothing, which is more than that nothing was said."""
    return split(values) if values else None


def split(values: Sequence[str]) -> list[str]:
    """Codes that were given one by one or separated by commas."""
    return [code.strip() for value in values for code in value.split(",") if code.strip()]


def canonical(given: str) -> str | None:
    """The code or prefix that is meant, by a name too; either in any case. None: there is none such."""
    word = given.strip()
    if not word.isascii():
        return None  # some letters are one of these only in the other case
    return word.upper() if word.upper() in selectable() else named().get(as_name(word))


def as_name(word: str) -> str:
    """As names of rules are written; of their modules the words are joined by underscores."""
    return word.lower().replace("_", "-")


def unknown(given: str) -> str:
    """What is said of a word that is neither a code nor a name."""
    if (like_a_code := _LIKE_A_CODE.fullmatch(given)) is not None:
        if max(likeness(like_a_code[1].upper(), each) for each in (PREFIX, ALL)) < _ALIKE:
            return f"{given!r} is not a rule"
    words = [word for word in re.split(r"[,\s]+", given) if word]
    if len(words) > 1 and all(map(canonical, words)):
        how = "each is a text of its own" if "," in given else "separate them by commas"
        return f"{given!r} contains several codes: {how}"
    digits = f"{given[: len(PREFIX)]}{given[len(PREFIX) :].upper().translate(_DIGITS)}"
    if (code := canonical(digits)) is not None:
        return f"unknown code or name {given!r}; did you mean {code}?"
    meant = as_name(given) if "-" in given or "_" in given else given.upper()
    return f"unknown code or name {given!r}{nearest(meant, (*selectable(), *named()))}"
