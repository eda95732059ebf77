"""The plan of a model as a whole, once it is complete."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import CPUOffloadPolicy

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.sharding import PolicySettled, ReshardingSettled
from ....vocab.finding import Moment, Place
from ....vocab.meshes import says_replicas
from ....vocab.rule import ModelKey
from ... import adapter
from ...closure import looked
from ...ledger import Sharding, Trained, label_of
from ...patches import argument
from ...session import Session
from ...sites import called_by_torch
from ..shared.models import RuntimeModel
from ..shared.units import OfSharding


@dataclass(frozen=True, slots=True)
class RuntimeResharding(RuntimeModel):
    def never(self) -> Answer[Place]:
        shardings = self.ledger.inside(self.module)
        own = self.ledger.of_module(self.module)
        groups = [group for each in shardings for group in each.groups()]
        stays = all(group.stays_gathered and group.shards > 1 for group in groups)
        if own is None or len(shardings) < 2 or not stays or any(each.given_back for each in shardings):
            return looked("the groups were asked whether they are resharded")
        if self.ledger.stage_of(own) > 1:
            return looked("a pipeline runs several micro-batches through it before each is freed")
        said = next((each.kept_at for each in shardings if each is not own and each.kept_at), None)
        model = self.ledger.model_of(self.module)
        if said is not None and not (model is not None and model.seen):
            return unknown("whether they are resharded is switched, and may be switched again")
        return yes(Place(said or next(each for each in shardings if each is not own).when))


@dataclass(frozen=True, slots=True)
class RuntimePolicy(OfSharding):
    """One call. ``failed`` are the words for the dtypes that met in a layer of it, and the call that made the other."""

    root: nn.Module
    failed: tuple[str, Moment] | None = None

    @property
    def model_key(self) -> ModelKey:
        return self.ledger.key_of(self.root, label_of(self.root), self.sharding.when)

    def other_precision(self) -> Answer[Place]:
        if self.failed is None:
            return looked("the dtypes of the groups were compared")
        return yes(Place(self.failed[1], self.failed[0]))

    def other_offloading(self) -> Answer[Place]:
        mine = _offloads(self.sharding)
        for block in self._blocks():
            theirs = _offloads(block)
            if mine is not None and theirs is not None and mine != theirs:
                return yes(Place(block.when, "offloads" if theirs else "does not offload"))
        return looked("the groups of the model were compared")

    def other_mesh(self) -> Answer[Place]:
        mesh = _mesh(self.sharding)
        for block in self._blocks():
            theirs = _mesh(block)
            if mesh is None or theirs is None:
                continue
            if theirs.ndim != mesh.ndim or adapter.ranks_of(theirs) != adapter.ranks_of(mesh):
                return yes(Place(block.when))
        return looked("the meshes of the groups were compared")

    def _blocks(self) -> Iterator[Sharding]:
        """Calls on the blocks, for the root: towers, heads and experts may be treated in a way of their own."""
        if not any(module is self.root for module in self.sharding.live_modules()):
            return
        paths = {id(module): path for path, module in self.root.named_modules()}
        for block in self.ledger.inside(self.root):
            names = [paths.get(id(module), "").lower() for module in block.live_modules()]
            if all(_is_block(name) for name in names):
                yield block

    def replicas_forgotten(self) -> Answer[Place]:
        mesh = _mesh(self.sharding)
        if mesh is None or self.ledger.inside(self.root)[0] is not self.sharding:
            return looked("the mesh of the group was looked at")
        own, whole = adapter.names_of(mesh), adapter.whole_of(mesh)
        others = [name for name in adapter.names_of(whole) if says_replicas(name)]
        if len(own) != 1 or len(others) != 1 or others[0] in own or others[0] in self.ledger.mesh_uses:
            return looked("the mesh of the group was looked at")
        size = whole.size(adapter.names_of(whole).index(others[0]))
        if size > 1 and len(adapter.ranks_of(mesh)) * size <= len(adapter.ranks_of(whole)):
            return yes(Place(self.sharding.when, repr(others[0])))
        return looked("the mesh of the group was looked at")


def _mesh(sharding: Sharding) -> adapter.Mesh | None:
    return next((group.mesh for group in sharding.groups()), None)


def _offloads(sharding: Sharding) -> bool | None:
    said = {isinstance(group.offloading, CPUOffloadPolicy) for group in sharding.groups()}
    return said.pop() if len(said) == 1 else None


def _is_block(path: str) -> bool:
    """One of a stack of blocks. Experts are in a stack of their own, further down, and may have their own mesh."""
    parts = path.split(".")
    return parts[-1].isdigit() and sum(part.isdigit() for part in parts) == 1 and not {"expert", "moe"} & set(parts)


def install(session: Session) -> None:
    """Which dimensions of meshes the program makes use of itself."""

    def group(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not called_by_torch(sys._getframe()):
            asked = argument(args, kwargs, 1, "mesh_dim")
            names = adapter.names_of(args[0])
            session.ledger.mesh_uses.update(names if asked is None else [asked] if isinstance(asked, str) else names)

    session.watch((DeviceMesh, "get_group"), before=group)


def settle(session: Session, model: Trained) -> None:
    top = model.module()
    if top is None:
        return
    for sharding in session.ledger.inside(top):
        for root in sharding.live_modules():
            if root not in session.ledger.below:
                resharding = RuntimeResharding(session.ledger, root)
                session.dispatch(ReshardingSettled(when=sharding.when, resharding=resharding))
                for each in session.ledger.inside(root):
                    policy = RuntimePolicy(session.ledger, each, root)
                    session.dispatch(PolicySettled(when=each.when, policy=policy))
