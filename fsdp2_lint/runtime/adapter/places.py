"""The private places of torch that are read, and the rules that cannot be judged without each.

A place that this torch lacks is never given a value: who reads it is told that nobody can tell. What is asked of it
becomes unknown, and the report says why. Places are looked for by name in the user's own objects, which have all
that an object of this torch can have; never by version.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...vocab.answers import CannotTell

OF_PARAMS = (
    *("FSDP201", "FSDP203", "FSDP208", "FSDP301", "FSDP302", "FSDP304", "FSDP307", "FSDP313", "FSDP314", "FSDP316"),
    *("FSDP318", "FSDP319", "FSDP320", "FSDP408", "FSDP502", "FSDP601", "FSDP604", "FSDP613", "FSDP614", "FSDP615"),
)
_MESHES = ("FSDP203", "FSDP208", "FSDP308", "FSDP312", "FSDP313", "FSDP315", "FSDP316", "FSDP319", "FSDP405", "FSDP613")
_ROOTS = ("FSDP208", "FSDP307", "FSDP316", "FSDP320", "FSDP405", "FSDP407", "FSDP808")
_OF_COPIES = ("FSDP319", "FSDP320", "FSDP602", "FSDP613", "FSDP614", "FSDP615")
_NOT_THERE = object()


@dataclass(frozen=True, slots=True)
class Place:
    """An attribute of one of torch's objects. ``names``: what it is called, the newest first.

    ``until``: what it stands for while an object does not have it yet.
    """

    of: str
    names: tuple[str, ...]
    rules: tuple[str, ...]
    until: Any = _NOT_THERE

    def __str__(self) -> str:
        return f"{self.of}.{self.names[-1]}"

    def read(self, owner: Any) -> Any:
        """:class:`Missing` where this torch has no such place."""
        for name in self.names:
            found = getattr(owner, name, _NOT_THERE)
            if found is not _NOT_THERE:
                return found
        if self.until is not _NOT_THERE and self.is_in(owner):
            return self.until
        raise Missing(self)

    def is_in(self, owner: Any) -> bool:
        """Has such an object this place, or will it have it?"""
        declared = [vars(cls).get("__annotations__", {}) for cls in type(owner).__mro__]
        return any(hasattr(owner, name) or any(name in each for each in declared) for name in self.names)


class Missing(CannotTell):
    def __init__(self, place: Place) -> None:
        super().__init__(f"this torch has no {place}")
        self.place = place


def _of(owner: str, *names: str, rules: tuple[str, ...], until: Any = _NOT_THERE) -> Place:
    return Place(owner, names, rules, until)


GROUPS = _of("FSDPState", "_fsdp_param_groups", "_fsdp_param_group", rules=OF_PARAMS)
MODULES = _of("FSDPState", "_modules", rules=OF_PARAMS)
IS_ROOT = _of(
    "FSDPState", "_is_root", rules=("FSDP208", "FSDP307", "FSDP316", "FSDP320", "FSDP405", "FSDP407", "FSDP808")
)
CONTEXT = _of("FSDPState", "_state_ctx", rules=("FSDP405", "FSDP407", "FSDP808"))
FORWARD_ROOT = _of("FSDPStateContext", "iter_forward_root", rules=CONTEXT.rules)
TRAINING = _of("FSDPState", "_training_state", rules=("FSDP401", "FSDP402", "FSDP404"))

PARAMETERS = _of("FSDPParamGroup", "fsdp_params", rules=OF_PARAMS)
SHARDED_STATE = _of("FSDPParamGroup", "_sharded_state", rules=("FSDP318", "FSDP407", "FSDP602"))
STAYS = _of("FSDPParamGroup", "_reshard_after_forward", rules=("FSDP312", "FSDP318", "FSDP407"))
PHASE = _of("FSDPParamGroup", "_training_state", rules=("FSDP408",))
RESHARDS = _of("FSDPParamGroup", "reshard_after_backward", rules=("FSDP318", "FSDP407"))
REDUCES = _of("FSDPParamGroup", "reduce_grads", rules=("FSDP604", "FSDP613"))
REDUCES_REPLICAS = _of("FSDPParamGroup", "all_reduce_grads", rules=("FSDP604",))
OF_REPLICA = _of("FSDPParamGroup", "_partial_reduce_output", rules=("FSDP614", "FSDP615"))
FACTOR = _of("FSDPParamGroup", "gradient_divide_factor", rules=("FSDP616",))
GATHERED = _of("FSDPParamGroup", "_all_gather_result", rules=("FSDP318", "FSDP407", "FSDP408"))
OFFLOAD = _of("FSDPParamGroup", "offload_policy", rules=("FSDP206", "FSDP308", "FSDP503", "FSDP910"))
MESH_INFO = _of("FSDPParamGroup", "mesh_info", rules=_MESHES)
MESH = _of("FSDPMeshInfo", "mesh", rules=_MESHES)
SHARD_DIM = _of("FSDPMeshInfo", "shard_mesh_dim", rules=_MESHES)
REPLICA_DIM = _of("FSDPMeshInfo", "replicate_mesh_dim", rules=("FSDP203", "FSDP805", "FSDP910"))

OF_MODULE = _of("FSDPParam", "_module_info", rules=OF_PARAMS)
SHARD = _of("FSDPParam", "sharded_param", rules=OF_PARAMS)
WHOLE = _of("FSDPParam", "_unsharded_param", rules=_OF_COPIES, until=None)
SIZE = _of("FSDPParam", "_orig_size", rules=("FSDP313", "FSDP316", "FSDP319"))
ACCUMULATED = _of("FSDPParam", "unsharded_accumulated_grad", rules=("FSDP613", "FSDP614", "FSDP615"), until=None)
OUTPUTS = _of("FSDPParam", "all_gather_outputs", rules=("FSDP318",), until=())
PLACEMENT = _of("FSDPParam", "fsdp_placement", rules=("FSDP313",))
SPEC = _of("FSDPParam", "_sharding_spec", rules=("FSDP316", "FSDP320"))

POLICY = _of("FSDPParamGroup", "mp_policy", rules=("FSDP308", "FSDP502", "FSDP503", "FSDP505", "FSDP910"))
PARAM_POLICY = _of("FSDPParam", "mp_policy", rules=POLICY.rules)  # each parameter has its own in torch 2.15

_OF_STATE = (GROUPS, MODULES, IS_ROOT, CONTEXT, TRAINING)
_OF_GROUP = (
    *(PARAMETERS, SHARDED_STATE, STAYS, RESHARDS, REDUCES, REDUCES_REPLICAS, OF_REPLICA, FACTOR, PHASE, GATHERED),
    *(OFFLOAD, MESH_INFO),
)
_OF_PARAM = (OF_MODULE, SHARD, WHOLE, SIZE, ACCUMULATED, OUTPUTS, PLACEMENT, SPEC)


def lacking(states: Iterable[Any]) -> list[Place]:
    """The places that the objects of ``fully_shard`` should have, and do not."""
    found: dict[Place, None] = {}

    def look(places: Iterable[Place], owner: Any) -> None:
        found.update(dict.fromkeys(place for place in places if not place.is_in(owner)))

    for state in states:
        look(_OF_STATE, state)
        if CONTEXT.is_in(state):
            look([FORWARD_ROOT], CONTEXT.read(state))
        for group in _listed(GROUPS, state):
            look(_OF_GROUP, group)
            if MESH_INFO.is_in(group):
                look([MESH, SHARD_DIM, REPLICA_DIM], MESH_INFO.read(group))
            params = _listed(PARAMETERS, group)
            if not POLICY.is_in(group) and not all(PARAM_POLICY.is_in(param) for param in params):
                found[POLICY] = None
            for param in params:
                look(_OF_PARAM, param)
    return list(found)


def _listed(place: Place, owner: Any) -> list[Any]:
    value = place.read(owner) if place.is_in(owner) else None
    return list(value) if isinstance(value, (list, tuple)) else [value] if value is not None else []
