"""Python's own parser, without its warnings: those of the checked code are no messages of ours."""

from __future__ import annotations

import warnings
from typing import Any

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast


def parsed(source: bytes | str, path: str = "?", mode: str = "exec") -> Any:
    """The tree. Nothing is executed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, path, mode, _ONLY_AST, dont_inherit=True)
