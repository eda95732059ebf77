"""Functions that copy nested data, such as one that fills in the environment's variables in all texts below.

Run on a configuration that is not known, one ends where it calls itself; what it returns has the keys of what it got.
"""

from __future__ import annotations

from collections.abc import Callable

from astroid import nodes

from ...domain.values import Func, Obj, Value
from ..machine import AnyMachine

_COLLECTIONS = frozenset({"dict", "list", "tuple", "set"})
_VIEWS = frozenset({"items", "values"})


def copied(machine: AnyMachine, func: Func, args: list[Value], run: Callable[[Value], Value]) -> Value | None:
    """The configuration that a function copies; None where it does something else, or gets something else.

    ``run`` is the call for what is no configuration, such as the empty dict that stands for none.
    """
    if not args or not isinstance(func.node, nodes.FunctionDef) or not copies_nested_data(func.node):
        return None
    if not any(_is_configuration(leaf) for _, leaf in machine.alternatives(args[0])):
        return None
    return machine.over(args[0], lambda leaf: leaf if _is_configuration(leaf) else run(leaf))


def _is_configuration(value: Value) -> bool:
    return isinstance(value, Obj) and value.atom.kind == "configuration"


def copies_nested_data(function: nodes.FunctionDef) -> bool:
    """Does each way out return what was given, or a collection of the same shape around calls of itself?"""
    found: bool | None = getattr(function, "fsdp2_copies", None)  # asked at each call
    if found is None:
        found = function.fsdp2_copies = _copies(function)
    return found


def _copies(function: nodes.FunctionDef) -> bool:
    parameters = [each.name for each in function.args.args if each.name not in ("self", "cls")]
    if not parameters or function.decorators is not None:
        return False
    given, own = parameters[0], [each for each in function.nodes_of_class(nodes.Return) if each.scope() is function]
    calls = [each for each in function.nodes_of_class(nodes.Call) if _calls(each, function.name)]
    ends = bool(function.body) and isinstance(function.body[-1], nodes.Return)
    return ends and bool(calls) and all(_same_shape(each.value, function.name, given) for each in own)


def _same_shape(value: nodes.NodeNG | None, function: str, given: str) -> bool:
    if _is(value, given):
        return True
    if isinstance(value, nodes.DictComp):
        return _goes_through(value.generators, given) and _again(value.value, function)
    if isinstance(value, (nodes.ListComp, nodes.GeneratorExp, nodes.SetComp)):
        return _goes_through(value.generators, given) and _again(value.elt, function)
    if not isinstance(value, nodes.Call) or value.keywords or len(value.args) != 1:
        return False
    if _is(value.args[0], given):  # a text, changed
        return not _calls(value, function)
    of_its_type = isinstance(value.func, nodes.Call) and getattr(value.func.func, "name", "") == "type"
    collection = of_its_type or isinstance(value.func, nodes.Name) and value.func.name in _COLLECTIONS
    return collection and _same_shape(value.args[0], function, given)


def _goes_through(generators: list[nodes.Comprehension], given: str) -> bool:
    if len(generators) != 1 or generators[0].ifs:
        return False
    over = generators[0].iter
    view = isinstance(over, nodes.Call) and isinstance(over.func, nodes.Attribute) and over.func.attrname in _VIEWS
    return _is(over.func.expr if view else over, given)


def _again(element: nodes.NodeNG, function: str) -> bool:
    return isinstance(element, nodes.Call) and _calls(element, function)


def _calls(call: nodes.Call, name: str) -> bool:
    return name == (call.func.attrname if isinstance(call.func, nodes.Attribute) else getattr(call.func, "name", ""))


def _is(node: nodes.NodeNG | None, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.name == name
