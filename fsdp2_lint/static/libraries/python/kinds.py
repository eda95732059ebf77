"""What ``isinstance`` says of values that are of no class that was followed: containers, constants, tensors."""

from __future__ import annotations

from collections import abc

from ...domain.formulas import Formula
from ...domain.values import Const, DictV, Ext, ListV, ParamV, StateDict, StateTensor, Text, TupleV, Value
from .attempts import is_dtensor

DTENSOR = Ext("torch.distributed.tensor.DTensor")
_KINDS = {ListV: list, DictV: dict, TupleV: tuple, Text: str, StateDict: dict}
_PYTHON: dict[str, type] = {
    **{f"builtins.{each.__name__}": each for each in (dict, list, tuple, set, frozenset, str, bytes, int, float, bool)},
    "builtins.complex": complex, "builtins.object": object, "builtins.type": type,
    "typing.Dict": dict, "typing.List": list, "typing.Tuple": tuple, "typing.Set": set,
}  # fmt: skip
for _name in ("Mapping", "MutableMapping", "Sequence", "MutableSequence", "Iterable", "Set", "Sized", "Container"):
    _PYTHON |= {f"{place}.{_name}": getattr(abc, _name) for place in ("typing", "collections.abc")}


class _Tensor:
    """What Python's abstract classes ask a tensor for."""

    __iter__ = __len__ = __contains__ = lambda self: None


_TENSOR, _PARAMETER = "torch.Tensor", "torch.nn.Parameter"
_OTHERS = frozenset({"torch.nn.Module", "torch.device", "torch.dtype", "numpy.ndarray"})


def is_a(leaf: Value, cls: Value) -> Formula:
    """Is this of that class? A question that stays open where the class is not one of those that everybody knows."""
    if isinstance(leaf, (StateTensor, ParamV)) and cls == DTENSOR:
        return is_dtensor(leaf)
    known = _known(leaf, cls.qname) if isinstance(cls, Ext) else None
    return ("truth", ("isinst", leaf, (cls,))) if known is None else known


def _known(leaf: Value, asked: str) -> bool | None:
    if isinstance(leaf, (StateTensor, ParamV)):
        if asked == _TENSOR or asked == _PARAMETER and isinstance(leaf, ParamV) and not leaf.copied:
            return True
        if asked in _PYTHON:
            return issubclass(_Tensor, _PYTHON[asked])
        return False if asked in _OTHERS else None
    kind = type(leaf.value) if isinstance(leaf, Const) else _KINDS.get(type(leaf))
    if kind is None:
        return None
    if asked in _PYTHON:
        return issubclass(kind, _PYTHON[asked])
    return False if asked in _OTHERS or asked in (_TENSOR, _PARAMETER, DTENSOR.qname) else None
