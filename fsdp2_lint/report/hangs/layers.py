"""Whose code a file is: only the user's own is the place of a finding."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..codec import text

_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


@dataclass(frozen=True, slots=True)
class Layers:
    """The folders of torch, of this tool and of Python's standard library, the last as real paths."""

    torch: str
    own: tuple[str, ...]
    standard: tuple[str, ...]

    def of(self, file: str) -> str:
        """``user``, ``library``, or ``machinery`` that never is the place of a finding."""
        if file.startswith("<"):
            return "machinery"
        path = os.path.abspath(file)
        if any(path.startswith(folder + os.sep) for folder in (*self.own, self.torch)):
            return "machinery"
        if any(part in path for part in _LIBRARIES):
            return "library"
        real = os.path.realpath(path)
        return "machinery" if any(real.startswith(folder + os.sep) for folder in self.standard) else "user"

    def communicates(self, file: str) -> bool:
        """Is it of ``torch.distributed``?"""
        return os.path.abspath(file).startswith(os.path.join(self.torch, "distributed") + os.sep)

    def starts(self, file: str, function: str) -> bool:
        """Is it where this tool runs the script? What called it is nobody's place."""
        return function == "run_script" and os.path.abspath(file).startswith(self.own[0] + os.sep)


def layers_as_json(layers: Layers) -> dict[str, Any]:
    return asdict(layers)


def layers_from_json(values: Mapping[str, Any]) -> Layers:
    return Layers(text(values["torch"]), _texts(values["own"]), _texts(values["standard"]))


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)) or not values:
        raise TypeError("is not a list of texts")
    return tuple(map(text, values))
