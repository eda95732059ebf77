"""What files do when they are imported, which is not run."""

from __future__ import annotations

from astroid import nodes

from ..shared.program import Program

_SELECT = frozenset({"set_device", "set_device_index"})
_DEFINE = (nodes.FunctionDef, nodes.ClassDef, nodes.Import, nodes.ImportFrom)


def may_select_device(program: Program) -> str:
    """Which file that the script imports may select the device then, by the names of what it calls."""
    project = program.project
    for path in project.loaded_by(program.name) if not program.partial else ():
        facts = project.facts(path)
        if facts is None or all(_SELECT.isdisjoint(function.mentions) for function in facts.functions):
            continue
        module = project.module(path)
        for statement in module.tree.body if module is not None else ():
            if module is not None and not isinstance(statement, _DEFINE):
                names = project.relevance.mentioned(module, statement)
                if names is None or not names.isdisjoint(_SELECT):
                    return f"{module.name}.py may select the device when it is imported"
    return ""
