"""Which functions of the project a round of a loop may come to, by their names."""

from __future__ import annotations

from collections.abc import Collection

from astroid import nodes

from ...frontend.names import names_in, texts_in
from .program import Program


def run_in(program: Program, loop: nodes.NodeNG) -> list[nodes.FunctionDef]:
    """The functions that a round of the loop may come to: those that are named, also in a text for ``getattr``.

    Besides those that something holds, where what a variable, a container or an attribute holds is called.
    """
    reached = program.machine.reached
    left = [each for each in reached if isinstance(each, nodes.FunctionDef)]
    kept = {part.attrname for each in left for part in each.nodes_of_class(nodes.AssignAttr)}
    found: list[nodes.FunctionDef] = []
    said, texts, news, held = names_in(loop), texts_in(loop), [loop], False
    while news:
        if not held and any(_calls_a_value(each, kept) for each in news):
            held = True
            said = said.union(*map(_handed_on, reached), (each.name for each in left if each.decorators))
        news = [each for each in left if _is_named(each, said, texts if "getattr" in said else ())]
        found += news
        left = [each for each in left if each not in news]
        said, texts = said.union(*map(names_in, news)), texts.union(*map(texts_in, news))
    return found


def _calls_a_value(code: nodes.NodeNG, kept: Collection[str]) -> bool:
    """Does it call what is no function by its name, but ``kept`` in an attribute, or held by a variable or a list?"""
    for call in code.nodes_of_class(nodes.Call):
        func = call.func
        if isinstance(func, nodes.Attribute) and func.attrname in kept or isinstance(func, nodes.Subscript):
            return True
        if isinstance(func, nodes.Name):
            bound = func.scope().locals.get(func.name, ())
            if any(isinstance(each, nodes.AssignName) for each in bound):
                return True
    return False


def _handed_on(code: nodes.NodeNG) -> set[str]:
    """The names that code uses otherwise than in a call of them."""
    names = ((part, part.name) for part in code.nodes_of_class(nodes.Name))
    attributes = ((part, part.attrname) for part in code.nodes_of_class(nodes.Attribute))
    return {
        name
        for part, name in (*names, *attributes)
        if not (isinstance(part.parent, nodes.Call) and part.parent.func is part)
    }


def _is_named(function: nodes.FunctionDef, said: frozenset[str], texts: Collection[str]) -> bool:
    """A method that Python calls itself goes with its class; a text may be a part of one that is put together."""
    name: str = function.name
    if name.startswith("__"):
        return name != "__init__" or function.parent.name in said
    return name in said or any(text in name for text in texts)
