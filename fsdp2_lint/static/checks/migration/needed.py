"""The torch with which a program comes to its FSDP2 code, where the pinned one does not.

Behind a gate, FSDP2 is imported on some versions, and on others the program takes another way. So what is said of its
sharded models is said of the first version that has what it imports. An import without a gate changes nothing here:
FSDP906 reports it.
"""

from __future__ import annotations

from functools import cache

from astroid import nodes

from ....vocab.target import NEWEST, Version
from ...domain import events
from ...frontend.facts import SEED
from ...frontend.gates import comes_gated, loaded_by
from ...frontend.module import Module
from ...frontend.project import Project
from ...frontend.torch_api import comes_with, history_of_export
from ..shared.program import Program
from .imports import gated


def torch_of(program: Program, target: Version) -> Version:
    """The target, or the first newer one that each of the sharding calls has to have."""
    if target >= NEWEST:
        return target
    needs = _Needs(program.project, target)
    calls = {tuple(site.path for site in step.when.chain) for step in program.trace.of(events.Sharded)}
    return min((needs.of_call(chain) for chain in calls), default=target)


class _Needs:
    """What imports ask for that the target lacks; the target itself where they ask for nothing more."""

    def __init__(self, project: Project, target: Version) -> None:
        self.project, self.target = project, target
        self.of_file = cache(self._of_file)

    def of_call(self, chain: tuple[str, ...]) -> Version:
        """All files through which a call of ``fully_shard`` was come to were loaded, and the last one names it."""
        return max(self._of_name(chain[-1]), *(self.of_file(path) for path in dict.fromkeys(chain)))

    def _of_name(self, path: str) -> Version:
        """Of several imports of ``fully_shard`` in a file the one that asks for least may be the one that counts."""
        module = self.project.module(path)
        if module is None:
            return self.target
        imports = module.tree.nodes_of_class(nodes.ImportFrom)
        named = [node for node in imports if any(name == SEED for name, _ in node.names)]
        return min((self._of_import(module, node) for node in named), default=self.target)

    def _of_import(self, module: Module, node: nodes.ImportFrom) -> Version:
        histories = [history_of_export(node.modname or "", name) for name, _ in node.names if not node.level]
        came = [comes_with(history, self.target) for history in histories if history is not None]
        newer = [version for version in came if version is not None]
        if not newer or not (gated(self.project, module, node) or comes_gated(self.project, module.path)):
            return self.target
        return max(newer)

    def _of_file(self, path: str) -> Version:
        """Imports that nothing in the file keeps from being run, and those of the files that it loads so."""
        needed, loaded = self.target, [path]
        for at in loaded:  # which grows
            if (module := self.project.module(at)) is not None:
                for node in module.tree.body:
                    if isinstance(node, nodes.ImportFrom):
                        needed = max(needed, self._of_import(module, node))
                    loaded += [each for each in self._loaded(at, node) if each not in loaded]
        return needed

    def _loaded(self, path: str, node: nodes.NodeNG) -> dict[str, None]:
        """The files that a statement loads, as far as they lead to sharding code."""
        found = loaded_by(self.project, path, node) if isinstance(node, (nodes.Import, nodes.ImportFrom)) else ()
        return dict.fromkeys(each for each in found if self.project.is_relevant(each))
