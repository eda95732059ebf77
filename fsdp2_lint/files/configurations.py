"""What the configuration files of a project name: dotted names, by the keys that lead to them.

Only what is plainly written is read: blocks of YAML, and JSON. A name that is missed for that says nothing. The
folders of a file count as keys, as those of Hydra's groups are: ``model/small.yaml`` is read as what ``model`` holds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from .discovery import MOST, SKIPPED_FOLDERS
from .reading import CONFIGURATION_BYTES, CONFIGURATION_FILES, read

Named = tuple[tuple[str, ...], str]  # the keys, outermost first, and the name, or ``YES``
_YAML = (".yaml", ".yml")
SUFFIXES = (*_YAML, ".json")
YES = "true"
_NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[tT]rue)\Z")
_LINE = re.compile(r"(?P<before> *(?:- +)*)(?P<quote>[\"']?)(?P<key>[\w$./-]+)(?P=quote) *:(?: +(?P<value>.*))?\Z")
_BLOCK_OF_TEXT = ("|", ">")


def configuration_files(root: str) -> list[str]:
    """Those below a folder, but for hidden folders, environments and links; the first so many by name."""
    found: list[str] = []
    met = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if each[0] != "." and each not in SKIPPED_FOLDERS)
        found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(SUFFIXES)]
        met += len(names)
        if len(found) >= CONFIGURATION_FILES or met >= MOST:
            break
    return found[:CONFIGURATION_FILES]


def names_in(path: str, root: str) -> list[Named]:
    """The dotted names in a file; none where it cannot be read."""
    try:
        text = read(path, CONFIGURATION_BYTES).decode("utf-8")
    except (OSError, ValueError):
        return []
    folders = tuple(os.path.relpath(path, root).split(os.sep)[:-1])
    if path.endswith(_YAML):
        return [((*folders, *keys), name) for keys, name in _of_yaml(text)]
    with suppress(ValueError, RecursionError):
        return list(_of_tree(folders, json.loads(text)))
    return []


def _of_tree(keys: tuple[str, ...], tree: Any) -> Iterator[Named]:
    if isinstance(tree, dict):
        for key, below in tree.items():
            yield from _of_tree((*keys, str(key)), below)
    elif isinstance(tree, list):
        for below in tree:
            yield from _of_tree(keys, below)
    elif keys and (isinstance(tree, str) and _NAME.match(tree) or tree is True):
        yield keys, _named(tree)


def _of_yaml(text: str) -> Iterator[Named]:
    """Of block mappings alone: each key stands on a line of its own, and what is further in is below it."""
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        column = len(line) - len(line.lstrip(" "))
        if above and above[-1][1] in _BLOCK_OF_TEXT and (column > above[-2][0] or not line.strip()):
            continue
        found = _LINE.match(line.rstrip())
        if found is None:
            continue
        column, value = len(found["before"]), (found["value"] or "").split(" #")[0].strip()
        while above and above[-1][0] >= column:
            above.pop()
        above.append((column, found["key"]))
        if value[:1] in _BLOCK_OF_TEXT:
            above.append((column, value[0]))
        elif _NAME.match(name := value.strip("\"'")):
            yield tuple(key for _, key in above), _named(name)


def _named(value: object) -> str:
    return YES if value in (True, "true", "True") else str(value)
