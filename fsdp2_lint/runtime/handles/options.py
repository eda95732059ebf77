"""The keywords of one call of ``fully_shard``, as it was given them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...vocab.answers import Answer, yes
from ...vocab.finding import Moment, Place
from ...vocab.meshes import says_replicas, says_shards
from ...vocab.rule import ModelKey
from ..closure import looked


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    when: Moment
    label: str
    mesh: Any
    refusal: str = ""  # why torch refused the call

    @property
    def model_key(self) -> ModelKey:
        return ModelKey(self.label, self.when.at)

    def refused(self) -> Answer[Place]:
        return yes(Place(self.when, self.refusal)) if self.refusal else looked("torch took the mesh")

    def swapped(self) -> Answer[Place]:
        names: tuple[str, ...] = getattr(self.mesh, "mesh_dim_names", None) or ()
        if len(names) == 2 and says_shards(names[0]) and says_replicas(names[1]):
            return yes(Place(self.when, f"{names[0]!r} comes before {names[1]!r}"))
        return looked("the names of the mesh were read")
