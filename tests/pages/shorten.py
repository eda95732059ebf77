"""What the programs of a page have in common is written once: `fsdp2_lint/catalogue/examples.py`.

    python -m tests.pages.shorten

rewrites the pages in which a program repeats classes or functions of one above it. No program changes by that.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from fsdp2_lint.catalogue.codes import page_files
from fsdp2_lint.catalogue.examples import BETWEEN, BLOCK, EXAMPLES, as_above, definitions, with_whole_programs

SHORTEST = 4  # lines: fewer are read faster than a line that sends the reader up


def shortened(page: str) -> str:
    whole = with_whole_programs(page)
    known: dict[str, str] = {}

    def block(match: re.Match[str]) -> str:
        mine = definitions(match[0])
        text = match[0]
        for repeated, group in groupby(mine, lambda name: known.get(name) == mine[name] and not marked(mine[name])):
            names = [*group] if repeated else []
            for run in runs(names, mine, text):
                said = BETWEEN.join(mine[name] for name in run)
                if said.count("\n") + 1 >= SHORTEST:
                    text = text.replace(said, as_above(run), 1)
        known.update(mine)
        return text

    head, title, examples = whole.partition(EXAMPLES)
    short = head + title + BLOCK.sub(block, examples)
    assert with_whole_programs(short) == whole
    return short


def runs(names: list[str], mine: dict[str, str], text: str) -> list[list[str]]:
    """Names that follow each other with nothing in between."""
    found: list[list[str]] = []
    for name in names:
        if found and BETWEEN.join(mine[each] for each in (*found[-1], name)) in text:
            found[-1].append(name)
        else:
            found.append([name])
    return found


def marked(definition: str) -> bool:
    """Is something reported in it? That is what the reader came for."""
    return "# error:" in definition or "# warning:" in definition or ": [FSDP" in definition


def main() -> None:
    for path in map(Path, page_files()):
        page = path.read_text(encoding="utf-8")
        short = shortened(page)
        if short != page:
            path.write_text(short, encoding="utf-8")
            print(f"{path}: {len(page.encode())} -> {len(short.encode())} bytes")


if __name__ == "__main__":
    main()
