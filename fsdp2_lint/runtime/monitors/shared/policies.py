"""What ``fully_shard`` was given as policies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, OffloadPolicy

from ....vocab.answers import Many, many, unknown
from ....vocab.finding import Moment, Place, Site
from ....vocab.rule import ModelKey
from ...closure import looked

Wrong = tuple[str, str, Site | None]
WANTED = {"mp_policy": MixedPrecisionPolicy, "offload_policy": OffloadPolicy}


def wrong(given: Iterable[tuple[str, Any]]) -> dict[Wrong, None]:
    """What is no policy, each once: (keyword, the value in words, where it was made)."""
    return {(name, _in_words(value), None): None for name, value in given if not isinstance(value, WANTED[name])}


@dataclass(frozen=True, slots=True)
class RefusedPolicies:
    """Those of a call that torch did not take."""

    when: Moment
    label: str
    given: tuple[tuple[str, Any], ...]

    @property
    def model_key(self) -> ModelKey:
        return ModelKey(self.label, self.when.at)

    def wrong_policies(self) -> Many[Wrong]:
        return many(wrong(self.given), looked("the arguments of the call were looked at"))

    def reduced_low(self) -> Many[Place]:
        return many((), unknown("torch refused the call"))


def _in_words(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, (bool, torch.dtype)):
        return str(value)
    return f"an object of {type(value).__module__}.{type(value).__qualname__}"
