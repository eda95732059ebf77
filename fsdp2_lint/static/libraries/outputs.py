"""What modules return."""

from __future__ import annotations

from ..domain.values import Obj, is_call

# What these return are tensors; any other method that is not seen may return a part of the module.
_OUTPUTS = frozenset({"", "forward", "generate"})


def is_output(obj: Obj) -> bool:
    """What a module returned, or a part of that: tensors, which are no part of the module."""
    return any(is_call(item) and item[1] in _OUTPUTS for item in obj.path)
