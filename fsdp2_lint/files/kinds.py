"""What a file is, before anybody parses it: by the words in it, and by its name."""

from __future__ import annotations

import os

# -- by which words a file has to do with FSDP2, before anybody parses it
WORDS = (b"fully_shard", b"FSDPModule")
_OF_FSDP1 = b"fully_sharded"  # its module is fully_sharded_data_parallel


def speaks_of_fsdp2(program: bytes) -> bool:
    """And not of FSDP1 alone."""
    if _OF_FSDP1 in program:
        program = program.replace(_OF_FSDP1, b"")
    return any(word in program for word in WORDS)


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
