"""The codes that settings may name. Read off the pages of the clauses: loading the clauses takes ten times as long."""

from __future__ import annotations

import importlib
import os
from functools import cache

PREFIX, ALL = "FSDP", "ALL"
OWN_CODES = ("FSDP000", "FSDP001")  # what the tool says of files and of its own comments
_, UNUSED = OWN_CODES


@cache
def selectable() -> tuple[str, ...]:
    """Every code, every prefix of one from ``FSDP`` on, and ``ALL``; sorted."""
    codes = {*OWN_CODES, *_of_pages()}
    prefixes = {code[:length] for code in codes for length in range(len(PREFIX), len(code))}
    return tuple(sorted(codes | prefixes | {ALL}))


def _of_pages() -> list[str]:
    """A page begins with ``# FSDP601: optimizer-before-sharding``."""
    (folder, *_) = importlib.import_module("fsdp2_lint.rules").__path__
    codes = []
    for name in os.listdir(folder):
        if name.endswith(".md"):
            with open(os.path.join(folder, name), encoding="utf-8") as page:
                first = page.readline()
            if first.startswith(f"# {PREFIX}"):
                codes.append(first[2:].partition(":")[0])
    return codes
