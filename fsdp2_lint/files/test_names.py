"""Files that pytest takes for tests, by their names."""

from __future__ import annotations

import os


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
