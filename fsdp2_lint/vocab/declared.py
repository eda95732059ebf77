"""Classes that are nothing but their fields.

``dataclass`` writes and compiles six methods for each class, and there are five hundred: that was half of what a check
of one small file costs. So what can stand once for all of them stands here, and that nobody assigns to a field is
held by the type checker alone. Answers and findings, which others get, are frozen at run time too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from typing import dataclass_transform
else:

    def dataclass_transform(**_):
        """Python 3.10 has none, and only type checkers read it."""
        return lambda cls: cls


T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """A frozen dataclass with slots."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else a signature is worked out for it
    made = dataclass(slots=True, repr=False, eq=False)(cls)
    names = [each.name for each in fields(made) if each.compare]  # type: ignore[arg-type]  # it has just become one
    content: Callable[[Any], object] = attrgetter(*names) if names else lambda _: ()

    def equal(self: T, other: object) -> bool:
        return content(self) == content(other) if type(self) is type(other) else NotImplemented

    def hashed(self: T) -> int:
        return hash(content(self))

    for name, method in ("__eq__", equal), ("__hash__", hashed), ("__repr__", _told):
        if name not in cls.__dict__:
            setattr(made, name, method)
    return made


def _told(self: Any) -> str:
    """What ``dataclass`` gives as the representation."""
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Declared:
    """Each subclass is a frozen dataclass whose fields are given by name."""

    _names: ClassVar[frozenset[str]]
    _defaults: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        cls.__doc__ = cls.__doc__ or cls.__name__
        dataclass(init=False, repr=False, eq=False)(cls)
        known = fields(cls)  # type: ignore[arg-type]  # it has just become one
        cls._names = frozenset(each.name for each in known)
        cls._defaults = {each.name: each.default for each in known if each.default is not MISSING}

    if not TYPE_CHECKING:

        def __init__(self, **given: Any) -> None:
            if given.keys() != self._names:
                given = self._defaults | given
                if wrong := given.keys() ^ self._names:
                    raise TypeError(f"{type(self).__name__}: missing or unknown: {', '.join(sorted(wrong))}")
            self.__dict__.update(given)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.__dict__.items())))

    __repr__ = _told
