"""Imports by private paths, and of names that not every torch has: seen in the syntax alone."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....files.source import Sources
from ....vocab.behaviour import FSDP2_IS_PUBLIC
from ....vocab.events.migration import ApiUsed, Imported
from ....vocab.finding import Edit, Fix, Moment, Site
from ...frontend.gates import import_is_gated, is_conditional
from ...frontend.module import Module
from ...frontend.project import Project
from ...frontend.torch_api import history_of_export
from ..shared.source_edits import site_of
from .api import ImportedName

_PRIVATE = ("torch.distributed._composable.fsdp", "torch.distributed.fsdp._fully_shard")
PUBLIC = frozenset(
    {"fully_shard", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "CPUOffloadPolicy", "UnshardHandle",
     "register_fsdp_forward_method"}
)  # fmt: skip


def names_imported(module: Module, project: Project) -> Iterator[ApiUsed]:
    """Public names of torch that not every version has."""
    for node in module.tree.nodes_of_class(nodes.ImportFrom):
        for name, _ in node.names if not node.level else ():
            if (history := history_of_export(node.modname or "", name)) is not None:
                when = Moment(site_of(module.path, node))
                use = ImportedName(when, history, gated(project, module, node), project)
                yield ApiUsed(when=when, name=f"{node.modname}.{name}", use=use)


def imported_events(module: Module, project: Project) -> Iterator[Imported]:
    """Where the public path is missing in a torch that the project supports, the private one is all there is."""
    for node in module.tree.nodes_of_class((nodes.ImportFrom, nodes.Import)):
        when = Moment(site_of(module.path, node))
        if isinstance(node, nodes.Import):
            found = [(name, "torch.distributed.fsdp") for name, _ in node.names if name.startswith(_PRIVATE)]
        elif (node.modname or "").startswith(_PRIVATE) and not node.level:
            found = [(node.modname, f"torch.distributed.fsdp.{name}") for name, _ in node.names if name in PUBLIC]
        else:
            found = []
        if found:
            allowed = gated(project, module, node, of_module=True) or _missing(module, project)
            fix = _public_path(module, project, node)
            yield Imported(when=when, path=found[0][0], public=found[0][1], gated=allowed, fix=fix)


def _public_path(module: Module, project: Project, node: nodes.NodeNG) -> Fix | None:
    """Only the path changes, where all names that are imported by it are public."""
    if not isinstance(node, nodes.ImportFrom) or any(name not in PUBLIC for name, _ in node.names):
        return None
    line = Sources({module.path: project.data(module.path)}).line(module.path, node.lineno) or ""
    start = line.encode().find(node.modname.encode(), node.col_offset)  # columns count bytes of UTF-8
    if start < 0:
        return None
    site = Site(module.path, node.lineno, start + 1, node.lineno, start + len(node.modname) + 1)
    return Fix((Edit(site, "torch.distributed.fsdp"),))


def _missing(module: Module, project: Project) -> bool:
    oldest = project.oldest_torch(module.path)
    return oldest is not None and not FSDP2_IS_PUBLIC.of(oldest)


def gated(project: Project, module: Module, node: nodes.NodeNG, *, of_module: bool = False) -> bool:
    """Does the import stand in a fallback, or under a condition that may ask which torch there is?"""
    return is_conditional(module, node) or import_is_gated(project, module, node, of_module=of_module)
