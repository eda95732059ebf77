"""What a file is, before anybody parses it: by the words in it, and by its name."""

from __future__ import annotations

import os
import re

# -- by which words a file has to do with FSDP2, before anybody parses it
WORDS = (b"fully_shard", b"FSDPModule")
_NESTING = re.compile(rb"^([ \t]*)(?:async[ \t]+)?def[ \t]+([A-Za-z_]\w*)|" + WORDS[0], re.MULTILINE)
_OF_FSDP1 = b"fully_sharded"  # its module is fully_sharded_data_parallel


def speaks_of_fsdp2(program: bytes) -> bool:
    """And not of FSDP1 alone."""
    if _OF_FSDP1 in program:
        program = program.replace(_OF_FSDP1, b"")
    return any(word in program for word in WORDS)


def methods_that_shard(text: bytes) -> set[str]:
    """Names of the methods around each place that says ``fully_shard``, by how far they are indented."""
    found: set[str] = set()
    around: list[tuple[int, bytes]] = []  # definitions that may hold what comes next, outermost first
    for each in _NESTING.finditer(text) if WORDS[0] in text else ():
        if each[2] is None:
            found.update(name.decode() for depth, name in around if depth)
            continue
        while around and around[-1][0] >= len(each[1]):
            around.pop()
        around.append((len(each[1]), each[2]))
    return found


# -- files that pytest takes for tests, by their names
def is_test(path: str) -> bool:
    """Is it a test by its name? Those are no entries unless they are named one by one."""
    parts = path.split(os.sep)
    name = parts[-1]
    return (
        bool({"tests", "test", "testing"} & set(parts[:-1]))
        or name.startswith("test_")
        or name.endswith("_test.py")
        or name == "conftest.py"
    )
