"""Data sets and random numbers: do all ranks get the same out of them?"""

from __future__ import annotations

from ..relevance import names_in
from ..values import NONE, ClassV, Obj, Value
from .program import Program

_BY_RANK = ("rank", "world_size", "worker", "shard", "environ", "getenv", "replica")
_BY_CHANCE = ("rand", "shuffle", "choice", "sample", "uniform", "normal")
_FROM_FILES = ("torchvision.datasets.", "datasets.load_dataset", "datasets.load_from_disk")


def origin_known(program: Program, value: Value) -> str:
    """Empty if each rank surely has the same; else why it may not."""
    for path, leaf in program.machine.alternatives(value):
        if path.literals:
            return "which data set it is depends on a condition"
        if not isinstance(leaf, Obj):
            return "where the data comes from was not followed"
        facts = leaf.atom.facts
        if "drawn by" in facts and facts["drawn by"] == NONE:
            why = seeded_alike(program, facts["drawn at"])
        elif "drawn by" in facts:
            why = origin_known(program, facts["drawn by"])
        elif leaf.atom.origin == "torch.Generator":
            why = _seeds(program, facts.get("seeds", ()))
        elif "tensors" in facts:
            why = next((why for tensor in facts["tensors"] if (why := origin_known(program, tensor))), "")
        elif leaf.parent is None and isinstance(leaf.atom.cls, ClassV) and leaf.atom.kind == "instance":
            why = _written(program, leaf)
        elif leaf.atom.origin.startswith(_FROM_FILES) and "rank" not in str(leaf.path).lower():
            why = ""
        else:
            why = "where the data comes from was not followed"
        if why:
            return why
    return ""


def seeded_alike(program: Program, by: int) -> str:
    """Why the ranks' random states may differ at this position of the trace."""
    seeds = [step for step in program.trace.of("seeded") if step["generators"] != ("random",)]
    if any(step["differs"] is not False for step in seeds):
        return "each rank may have a seed of its own"
    if any(step.index < by and "torch" in step["generators"] for step in seeds):
        return ""
    return "without a seed each rank draws by chance"


def _seeds(program: Program, seeds: tuple[Value, ...]) -> str:
    if not seeds:
        return "a generator without a seed differs by chance"
    same = all(program.machine.per_rank(seed) is False for seed in seeds)
    return "" if same else "each rank may have a seed of its own"


def _written(program: Program, obj: Obj) -> str:
    """A data set of the project: its class names no rank and no chance, and it was given none."""
    machine = program.machine
    cls = machine.class_of(obj)
    for base in machine.mro(cls) if cls is not None else ():
        if isinstance(base, ClassV):
            names = {name.lower() for name in names_in(base.node)}
            if any(part in name for name in names for part in _BY_RANK):
                return f"{base.name} may divide the data by rank"
            if any(part in name for name in names for part in _BY_CHANCE) and "manual_seed" not in names:
                return f"{base.name} may draw its data by chance"
    for name in machine.store.fields.get(obj, ()):
        held = machine.store.get((obj, name))
        for _, leaf in machine.leaves(held) if held is not None else ():
            if machine.per_rank(leaf) is True or "rank" in repr(leaf).lower():
                return f"{name} of the data set may depend on the rank"
    return ""
