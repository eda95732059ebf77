"""The keywords of each call of ``fully_shard``."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import Any

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.sharding import OptionsGiven
from ....vocab.finding import Moment, Place
from ....vocab.meshes import misread, says_stages
from ....vocab.rule import ModelKey
from ... import adapter
from ...closure import looked
from ...ledger import label_of
from ...patches import argument
from ...session import Session
from ...sites import here


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

    def misread(self) -> Answer[Place]:
        names = adapter.names_of(self.mesh)
        if len(names) != 2 or self.mesh.size(0) == 1:
            return looked("the names of the mesh were read")
        if said := misread(*names):
            return yes(Place(self.when, said))
        if says_stages(names[0]):
            return unknown(f"whether the ranks along {names[0]!r} are stages of a pipeline shows when they run")
        return looked("the names of the mesh were read")


def install(session: Session) -> None:
    told: weakref.WeakSet[Any] = weakref.WeakSet()  # meshes: what is wrong with one is said once

    def shard(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        modules = argument(args, kwargs, 1, "modules")
        given = adapter.call_of_fully_shard(sys._getframe())
        mesh = given.get("mesh")
        if mesh is None or mesh in told or given.get("dp_mesh_dims") is not None:  # which says what they are for
            return
        told.add(mesh)
        when = here()
        session.dispatch(OptionsGiven(when=when, options=RuntimeOptions(when, label_of(*modules), mesh)))

    session.watch_fsdp2("sharding", before=shard)
