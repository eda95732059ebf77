"""Classes that are nothing but their fields: declared once here, and not at each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import dataclass_transform
else:

    def dataclass_transform(**_):
        """Python 3.10 has none, and only type checkers read it."""
        return lambda cls: cls


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Declared:
    """Each subclass is a frozen dataclass whose fields are given by name."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
