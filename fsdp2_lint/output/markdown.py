"""Pages in a terminal: prose is fitted to it, and code, tables and headings stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fsdp2_lint.output.terminal import fitted

_FENCE = "```"
_AS_IT_IS = ("#", "|", _FENCE)
_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")


def fitted_page(text: str, width: int | None) -> str:
    """``width`` None: no terminal says how wide it is, and nothing is changed."""
    if width is None:
        return text
    return "".join(f"{line}\n" for block in _blocks(text.splitlines()) for line in _fitted(block, width))


def _blocks(lines: Iterable[str]) -> Iterator[str | list[str]]:
    """Lines that stay as they are, and those of each paragraph or item."""
    prose: list[str] = []
    fenced = False
    for line in lines:
        apart = fenced or not line.strip() or line.lstrip().startswith(_AS_IT_IS)
        fenced ^= line.lstrip().startswith(_FENCE)
        if prose and (apart or _ITEM.match(line)):
            yield prose
            prose = []
        if apart:
            yield line
        else:
            prose.append(line)
    if prose:
        yield prose


def _fitted(block: str | list[str], width: int) -> Iterator[str]:
    """Only what is too wide somewhere is laid out anew."""
    if isinstance(block, str):
        yield block
    elif all(len(line) <= width for line in block):
        yield from block
    else:
        indent = len(block[0]) - len(block[0].lstrip())
        item = _ITEM.match(block[0])
        first, *rest = fitted(" ".join(map(str.strip, block)), width, indent, item.end() if item else indent)
        yield from (" " * indent + first, *rest)
