"""What a configuration names: classes and functions by the dotted names that the project's own files have there.

A run may read another file than those. So what is found is found for those that there are, and nothing is called upheld
in a program that builds what they name.
"""

from __future__ import annotations

from astroid import nodes

from ....files.configurations import YES
from ...budget import BUDGET
from ...domain.choices import choose
from ...domain.formulas import one_of
from ...domain.path_conditions import TRUE
from ...domain.says import Says
from ...domain.values import EACH, NONE, SOME, Const, Obj, Value, is_call, is_each
from ...interpreter.call import UNREAD_KEYWORDS, Call
from ..interface import Machine
from ..tables import external

_PARTS = frozenset({"split", "rsplit", "partition", "rpartition"})
_TARGETS = {"torchtune": "_component_"}  # by the package: the key under which it looks for a name
_ELEMENTS = (EACH, SOME, *(f"[{number}]" for number in range(10)))  # of a list, which has no keys
_TARGET, _PARTIAL = "_target_", "_partial_"


def named(machine: Machine, value: Value, node: nodes.NodeNG) -> Value:
    """Each name that the value may be, on its path; itself where no file names anything there."""
    return machine.over(value, lambda leaf: _named(machine, leaf, node) if isinstance(leaf, Obj) else leaf)


def _named(machine: Machine, leaf: Obj, node: nodes.NodeNG) -> Value:
    keys = _keys(leaf) if leaf.atom.kind in ("configuration", "parameter") else ()
    if len(keys) == 1 and leaf.atom.said_by is not Says.UNREAD:
        return leaf  # of a part of one, where many have such a key
    names = machine.project.named_under(keys) if keys else []
    several = len(names) > 1 and any(is_each(item) or item == SOME for item in leaf.path)
    if not 0 < len(names) < BUDGET.options or YES in names or several:  # of several elements each has its own
        return leaf
    machine.libraries.configured = machine.libraries.configured or machine.site(node)
    one_of(leaf, names)
    if len(names) == 1:
        return Const(names[0])
    paths = [(TRUE.add(("is", leaf, name)), Const(name)) for name in names]
    return choose([(path, each) for path, each in paths if path is not None])


def _keys(obj: Obj) -> tuple[str, ...]:
    """By which keys a value was read last: ``config.model["target"]``, and by ``get``."""
    found: list[str] = []
    for at in obj.above:
        item = at.item
        if is_call(item) and item[1] == "get" and isinstance(item[2], tuple) and isinstance(item[2][0], Const):
            found.append(str(item[2][0].value))
        elif isinstance(item, str) and item.isidentifier():
            found.append(item)
        elif isinstance(item, str) and item[:2] == "['" and item[-2:] == "']":
            found.append(item[2:-2])
        elif item not in _ELEMENTS:
            break
    return (*reversed(found),)


def parts_of_name(machine: Machine, obj: Obj, method: str, call: Call) -> Value | None:
    """``name.rsplit(".", 1)`` of a name out of a configuration; None where that is something else."""
    if method not in _PARTS or call.args[:1] != [Const(".")] or (found := named(machine, obj, call.node)) is obj:
        return None
    return machine.over(found, lambda name: machine.call(machine.get_attr(name, method, call.node), call))


@external("pydoc.locate", *[f"hydra.utils.get_{what}" for what in ("class", "method", "object", "static_method")])
def located(machine: Machine, call: Call) -> Value:
    """A class or function by its dotted name."""
    name = named(machine, call.args[0], call.node) if call.args else NONE
    return machine.over(name, lambda each: _found(machine, each, call) or machine.libraries.call_other(call.name, call))


@external("hydra.utils.instantiate", "hydra.utils.call", "torchtune.config.instantiate")
def instantiated(machine: Machine, call: Call) -> Value:
    """What a configuration names is called, with all else that it has there and what the call adds."""
    key = _TARGETS.get(call.name.partition(".")[0], _TARGET)

    def parts_of(keys: tuple[str, ...]) -> list[str]:
        """What it has that is built as well. Of several that it may be, nobody knows which of them takes which part."""
        one = keys and len(machine.project.named_under((*keys, key))) == 1
        return machine.project.naming_under(keys, key) if one else []

    def built(config: Value, args: list[Value], kwargs: dict[str, Value], depth: int) -> Value | None:
        keys = _keys(config) if isinstance(config, Obj) else ()
        if not isinstance(config, Obj) or keys and machine.project.named_under((*keys, _PARTIAL)):
            return None
        parts = parts_of(keys) if depth < BUDGET.held_depth else []
        given = {part: built(config.child(part), [], {}, depth + 1) for part in parts if part not in kwargs}
        below = {part: value for part, value in given.items() if value is not None}

        def one(name: Value) -> Value:
            code = _found(machine, name, call)
            if code is None:
                return machine.libraries.call_other(call.name, call)
            return machine.call(code, Call(call.node, args, {**below, **kwargs}, UNREAD_KEYWORDS))

        return machine.over(named(machine, config.child(key), call.node), one)

    found = built(call.args[0], call.args[1:], call.kwargs, 0) if call.args else None
    return found if found is not None else machine.libraries.call_other(call.name, call)


def _found(machine: Machine, name: Value, call: Call) -> Value | None:
    """What stands under a dotted name: an attribute of the module that its beginning is; None of no such name."""
    if not isinstance(name, Const) or not isinstance(name.value, str) or "." not in name.value:
        return None
    module, _, last = name.value.rpartition(".")
    return machine.get_attr(machine.import_module(machine.frame.module, module, True), last, call.node)
