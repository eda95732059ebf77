"""What a check of known programs takes, in numbers that no machine and no load changes.

    python -m tests.whole.steps

writes ``steps.json`` anew. Where a number grows, the commit says what is worth it.
"""

from __future__ import annotations

import json
import tempfile
from ast import Module
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fsdp2_lint.lint import lint
from fsdp2_lint.static import workers
from fsdp2_lint.static.domain.path_conditions import Pool
from fsdp2_lint.static.following import Followed, follow
from fsdp2_lint.static.frontend import project
from fsdp2_lint.static.frontend.module import parse
from tests.copies import copied

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("steps.json")
TREES = (
    "examples/good",
    "examples/broken",
    "tests/projects/titan_like",
    "tests/projects/torchtune_recipe",
    "tests/projects/modules_filter",
)


def counted(tree: str, folder: Path) -> dict[str, int]:
    """Of a cold check: statements and expressions followed, conditions in its paths, files parsed."""
    counts: Counter[str] = Counter()

    def following(*args: Any, **more: Any) -> Followed:
        followed = follow(*args, **more)
        counts.update(programs=1, steps=followed.steps, conditions=Pool.made)  # which the next program forgets
        return followed

    def parsing(path: str, data: bytes) -> Module:
        counts["files"] += 1
        return parse(path, data)

    with patch.object(workers, "follow", following), patch.object(project, "parse", parsing):
        report = lint([str(copied(ROOT / tree, folder))])
    assert not report.failures
    return dict(counts)


def recorded() -> dict[str, dict[str, int]]:
    known: dict[str, dict[str, int]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return known


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {tree: counted(tree, Path(folder) / str(number)) for number, tree in enumerate(TREES)}
    RECORD.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
