"""Which functions can have a part in what the rules are about, read off names before anything is interpreted.

Most lines of a training program handle data. A function that names nothing of models,
optimizers, ranks, collectives or unknown packages, and calls no function that does, cannot
matter as long as nothing of that kind is handed to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Protocol, TypeVar, cast

from astroid import nodes

from ..budget import BUDGET
from .module import Module
from .names import (
    ENVIRONMENT,
    Lookup,
    calls_other_values,
    calls_values,
    evaluates,
    imported_name,
    names_in,
    origins,
    qualified,
    reads_own_variables,
)
from .packages import is_harmless
from .reads import Reads
from .writes import written_in

Part = tuple[Module, nodes.NodeNG]
T = TypeVar("T")
# Names of torch, of Python and of Hugging Face that build a model or an optimizer, ask for a rank, start a job, or do
# what no reading can follow. Names that a program makes up say nothing: what they stand for is looked up.
_TELLING = frozenset(
    """optim distributed fully_shard environ getenv from_pretrained from_config instantiate setattr exec eval globals
    import_module register_module add_module to_empty compile requires_grad requires_grad_ modules named_modules
    children named_children parameters named_parameters state_dict load_state_dict get_rank get_world_size
    get_local_rank get_node_local_rank set_device set_default_device init_device_mesh DeviceMesh init_process_group
    DataLoader DistributedSampler set_epoch manual_seed randint randperm FSDPModule param_groups subprocess signal
    __subclasses__""".split()
)
_SUBCLASSES = "__subclasses__"
_DYNAMIC = frozenset({"getattr", "setattr", "__setattr__", "vars", "__dict__", "exec", "globals"})
_COMMAND_LINES = frozenset({"ArgumentParser", "add_argument"})
_DEVICE = frozenset({"cuda", "device", "to_device"})  # these only matter as long as no device was used
_TORCH_PARTS = ("torch.distributed", "torch.optim", "torch.multiprocessing")
_FILES = frozenset({"torch.save", "torch.load"})
_BUILDING = frozenset({"__init__", "__new__", "__post_init__"})
NONE, DEVICE, ALL = 0, 1, 2


class Files(Lookup, Protocol):
    """The project, as far as names lead from one file to another."""

    reads: Reads

    def module(self, path: str) -> Module | None: ...
    def reading(self) -> AbstractContextManager[Reads]: ...


class _TooFar(Exception):
    """A name is handed on by more imports than are followed, or in a circle."""


class Relevance:
    def __init__(self, project: Files) -> None:
        self.project = project
        self._known: dict[tuple[Callable[..., Any], nodes.NodeNG], tuple[Any, Reads]] = {}

    def _once(self, work: Callable[[Module, nodes.NodeNG], T], module: Module, node: nodes.NodeNG) -> T:
        """What ``work`` says, which may have said it before, for another program: that one's reads are used, too."""
        key = (work.__func__, node)  # type: ignore[attr-defined]  # a method of this object
        if key not in self._known:
            with self.project.reading() as reads:
                self._known[key] = work(module, node), reads
        answer, reads = self._known[key]
        self.project.reads.use(reads)
        return cast(T, answer)

    def level(self, module: Module, node: nodes.NodeNG) -> int:
        """What the code of ``node`` and all that it calls by name can touch: nothing, devices, or anything."""
        return self._once(self._search, module, node)

    def mentioned(self, module: Module, node: nodes.NodeNG) -> frozenset[str] | None:
        """All names in the code of ``node`` and in what it calls by name; None if others may be meant."""
        return self._once(self._gather, module, node)

    def _gather(self, module: Module, node: nodes.NodeNG) -> frozenset[str] | None:
        found: set[str] = set()
        try:
            parts = list(islice(self.code_of(module, node), BUDGET.name_parts + 1))
        except _TooFar:
            return None
        for _, part in parts:
            found |= names_in(part)
        dynamic = found & _DYNAMIC or any(evaluates(part) for _, part in parts)
        return None if dynamic or len(parts) > BUDGET.name_parts else frozenset(found)

    def written(self, module: Module, node: nodes.NodeNG) -> frozenset[str] | None:
        """Names of fields that this code, and what it calls by name, may set or fill; None if it may be any."""
        return self._once(self._gather_written, module, node)

    def _gather_written(self, module: Module, node: nodes.NodeNG) -> frozenset[str] | None:
        if self.mentioned(module, node) is None or not self.stays_inside(module, node):
            return None
        found: set[str] = set()
        for at, part in self.code_of(module, node):
            written = written_in(at, part)
            if written is None:
                return None
            found |= written
        return frozenset(found)

    def stays_inside(self, module: Module, node: nodes.NodeNG) -> bool:
        """Is all that it calls, by name, code of the project or of packages that leave models and optimizers alone?"""
        return self._once(self._stays_inside, module, node)

    def _stays_inside(self, module: Module, node: nodes.NodeNG) -> bool:
        return self.mentioned(module, node) is not None and not any(
            calls_other_values(at, part) or any(_unknown_package(self.project, at, name) for name in names_in(part))
            for at, part in self.code_of(module, node)
        )

    def comes_to_torch(self, module: Module, node: nodes.NodeNG) -> bool:
        """Does it call code of a file that speaks of torch, by name, or perhaps by a registry or by what derives?"""
        return self._once(self._comes_to_torch, module, node)

    def _comes_to_torch(self, module: Module, node: nodes.NodeNG) -> bool:
        return self._some_code(
            module, node, lambda at, part: at.mentions_torch or calls_values(part) or _SUBCLASSES in names_in(part)
        )

    def makes_settings(self, module: Module, node: nodes.NodeNG) -> bool:
        """Does it describe a command line, or build a record of the project? What is sharded is asked of these."""
        return self._once(self._makes_settings, module, node)

    def _makes_settings(self, module: Module, node: nodes.NodeNG) -> bool:
        return self._some_code(module, node, _own_settings)

    def _some_code(self, module: Module, node: nodes.NodeNG, holds: Callable[[Module, nodes.NodeNG], bool]) -> bool:
        """Does this hold of any code of ``node`` and of what it calls by name? Also where names lead too far."""
        try:
            return any(holds(at, part) for at, part in islice(self.code_of(module, node), BUDGET.name_parts))
        except _TooFar:
            return True

    def _search(self, module: Module, node: nodes.NodeNG) -> int:
        found = NONE
        try:
            for number, (at, part) in enumerate(self.code_of(module, node)):
                found = max(found, _own_level(self.project, at, part, called=part is not node))
                if found == ALL or number > BUDGET.name_parts:
                    return ALL
        except _TooFar:
            return ALL
        return found

    def code_of(self, module: Module, node: nodes.NodeNG) -> Iterator[Part]:
        """The code of ``node`` and of all that it calls by name."""
        seen: dict[nodes.NodeNG, None] = {node: None}
        queue: list[Part] = [(module, node)]
        while queue:
            at, part = queue.pop()
            yield at, part
            for other, target in self._called(at, part):
                if target not in seen:
                    seen[target] = None
                    queue.append((other, target))

    def _called(self, module: Module, node: nodes.NodeNG) -> Iterator[Part]:
        """What the names in ``node`` may stand for: functions, classes and values of the project."""
        names = names_in(node)
        for name in names:
            yield from self._bound(module, name, names, 0)
        for cls in module.tree.body:
            if isinstance(cls, nodes.ClassDef):
                for method in cls.body:
                    if isinstance(method, nodes.FunctionDef) and method.name in names:
                        yield module, method

    def _bound(self, module: Module, name: str, names: frozenset[str], depth: int) -> Iterator[Part]:
        """What a name of a file stands for, through imports that hand it on."""
        if depth > BUDGET.name_imports:
            raise _TooFar
        for node in module.bindings.get(name, ()):
            if isinstance(node, nodes.ImportFrom):
                yield from self._imported(module, node, name, names, depth)
            elif isinstance(node, nodes.Import):
                for full, alias in node.names:
                    if (alias or full.split(".")[0]) == name:
                        yield from self._members(self.project.resolve(module.path, full), names, depth)
            elif isinstance(node, nodes.ClassDef):  # to name a class is to build one; its methods are called by name
                yield from ((module, base) for base in node.bases)
                yield from ((module, method) for method in node.mymethods() if method.name in _BUILDING)
            else:
                yield module, node

    def _imported(
        self, module: Module, node: nodes.ImportFrom, name: str, names: frozenset[str], depth: int
    ) -> Iterator[Part]:
        for full, alias in node.names:
            if (alias or full) == name:
                base, level = node.modname or "", node.level or 0
                path = self.project.resolve(module.path, base, level)
                target = self.project.module(path) if path else None
                if target is not None and full in target.bindings:
                    yield from self._bound(target, full, names, depth + 1)
                else:
                    below = self.project.resolve(module.path, f"{base}.{full}" if base else full, level)
                    yield from self._members(below, names, depth)

    def _members(self, path: str | None, names: frozenset[str], depth: int) -> Iterator[Part]:
        """``utils.f``: what of that file is named."""
        target = self.project.module(path) if path else None
        for name in names if target is not None else ():
            if target is not None and name in target.bindings:
                yield from self._bound(target, name, names, depth + 1)


def _own_level(project: Files, module: Module, node: nodes.NodeNG, *, called: bool) -> int:
    names = names_in(node)
    telling = names & _TELLING
    if telling and telling <= ENVIRONMENT and called and reads_own_variables(node):
        telling = frozenset()  # an endpoint or a profile, of use to what is called here
    if telling or calls_values(node) or any(_unknown_package(project, module, name) for name in names):
        return ALL
    if any(map(_is_telling, qualified(project, module, node))):
        return ALL
    return DEVICE if names & _DEVICE else NONE


def _is_telling(qname: str) -> bool:
    """Is it a part of torch that is about models, optimizers, ranks or checkpoints? ``nn.functional`` is not."""
    layer = qname.startswith("torch.nn.") and qname.rpartition(".")[2][:1].isupper()
    return layer or qname in _FILES or qname.startswith(_TORCH_PARTS)


def _unknown_package(project: Files, module: Module, name: str) -> bool:
    """Is this name imported from a package that may do anything?"""
    for node, full in origins(module, name):
        if project.resolve(module.path, full) is None and not is_harmless(imported_name(node, full, name)):
            return True
    return False


def _own_settings(module: Module, node: nodes.NodeNG) -> bool:
    names = names_in(node)
    if names & _COMMAND_LINES:
        return True
    bound = [each for name in names for each in module.bindings.get(name, ())]
    own = [node.parent] if "cls" in names else []  # of a class method
    classes = [each for each in (*bound, *own) if isinstance(each, nodes.ClassDef)]
    return any(isinstance(field, nodes.AnnAssign) for cls in classes for field in cls.body)
