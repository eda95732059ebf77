"""What files do when they are imported, which is not run."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ...frontend.facts import Facts
from ...frontend.module import Unreadable
from ...frontend.names import names_in
from ...frontend.project import Project
from ..shared.program import Program

_SELECT = frozenset({"set_device", "set_device_index"})
_DEFINE = (nodes.FunctionDef, nodes.ClassDef, nodes.Import, nodes.ImportFrom)


def may_select_device(program: Program) -> str:
    """Which file that the script imports may select the device then, by the names of what it calls."""
    project = program.project
    for path in _speaking(project, project.loaded_by(program.name)) if not program.partial else ():
        module = project.module(path)
        if module is None:
            continue
        for call in _calls(module.tree):
            mentioned = project.relevance.mentioned(module, call)
            if mentioned is None or not mentioned.isdisjoint(_SELECT):
                return f"{module.name}.py may select the device when it is imported"
    return ""


def _calls(tree: nodes.Module) -> Iterator[nodes.Call]:
    """Those of the statements at the top of a file that run where it is imported."""
    for statement in tree.body:
        as_script = isinstance(statement, nodes.If) and "__name__" in names_in(statement.test)
        if not as_script and not isinstance(statement, _DEFINE):
            yield from statement.nodes_of_class(nodes.Call, skip_klass=(*_DEFINE, nodes.Lambda))


def _speaking(project: Project, paths: list[str]) -> list[str]:
    """Files whose own statements name what selects a device, or a function that does, or one that calls that."""
    names, known, more = set(_SELECT), dict[str, Facts](), True
    while more:
        texts = [name.encode() for name in names]
        found = [path for path in paths if path not in known and any(text in _text(project, path) for text in texts)]
        known.update((path, facts) for path in found if (facts := project.facts(path)) is not None)
        functions = [each for facts in known.values() for each in facts.functions if each.name]
        size = len(names)
        names |= {each.name for each in functions if not names.isdisjoint(each.mentions.all())}
        more = len(names) > size
    return [path for path, facts in known.items() if not names.isdisjoint(facts.at_once)]


def _text(project: Project, path: str) -> bytes:
    try:
        return project.data(path)
    except Unreadable:
        return b""
