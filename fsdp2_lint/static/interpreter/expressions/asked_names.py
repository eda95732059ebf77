"""Names that are put together while a program runs: which of those that there are a text may spell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose
from ...domain.formulas import either
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import ClassV, Const, ModRef, Obj, Text, Value, unknown
from ...frontend.module import Module
from ..machine import AnyMachine
from ..syntax import class_body
from . import domains, registries


def spelled_out(machine: AnyMachine, name: Value, holder: Value, *, raises: bool) -> Value:
    """Each name of what ``holder`` has that the text may spell, on the path on which it does.

    On the other paths it is the text itself; there are none if ``holder`` is known with all that it has, and another
    name ``raises``. Names are told apart by the one unknown that stands in the text.
    """
    if isinstance(name, Const):
        return name
    if all(isinstance(each, str) for each in domains.domain(machine, name) or (None,)):
        return domains.spelled_out(machine, name)
    if (pattern := _pattern(machine, name)) is None:
        return name
    part, ends = pattern
    raises = raises and _is_known(machine, holder)
    return machine.over(part, lambda each: _completed(machine, name, each, ends, _held(machine, holder), raises))


def modules(machine: AnyMachine, name: Value, node: nodes.NodeNG) -> Value:
    """Each module of the package that the text begins with, on the path on which the text is its name.

    Any other name is refused there: the import raises. So is a module without what is asked of it in the same breath.
    """
    importer, pattern = machine.frame.module, _pattern(machine, name)
    package, dot, _ = beginning(machine, name).rpartition(".")
    if pattern is None or not dot or package.startswith("."):
        return name
    part, ends = pattern
    names = machine.project.modules_of(importer.path, package)
    if wanted := _asked_at_once(node):
        names = [each for each in names if _may_have(machine, importer, each, wanted)]
    return machine.over(part, lambda each: _completed(machine, name, each, ends, names, raises=True))


def _pattern(machine: AnyMachine, name: Value) -> tuple[Value, tuple[str, str]] | None:
    """The one unknown that stands in a text, and what is written before and behind it; None where there are others."""
    parts = list(pieces(machine, name))
    asked = [part for part in parts if not isinstance(part, Const)]
    if len(asked) != 1 or len(parts) < 2:
        return None
    at = parts.index(asked[0])
    return asked[0], (_written(parts[:at]), _written(parts[at + 1 :]))


def _asked_at_once(node: nodes.NodeNG) -> str:
    """``import_module(name).attribute``, and the same by ``getattr``."""
    above = node.parent
    if isinstance(above, nodes.Attribute):
        return str(above.attrname)
    if isinstance(above, nodes.Call) and getattr(above.func, "name", "") == "getattr" and len(above.args) == 2:
        return str(above.args[1].value) if isinstance(above.args[1], nodes.Const) else ""
    return ""


def _may_have(machine: AnyMachine, importer: Module, module: str, name: str) -> bool:
    path = machine.project.resolve(importer.path, module)
    found = machine.project.module(path) if path else None
    if found is None or found.is_package or found.stars or registries.writes_globals(found):
        return True
    return name in found.bindings or "__getattr__" in found.bindings


def global_of(machine: AnyMachine, holder: ModRef, name: Value) -> Value:
    """``globals()[name]``"""

    def one(name: Value) -> Value:
        if isinstance(name, Const) and isinstance(name.value, str):
            return machine.member(holder.module, name.value)
        return unknown("a global", kind="opaque")

    return machine.over(spelled_out(machine, name, holder, raises=True), one)


def pieces(machine: AnyMachine, value: Value) -> Iterator[Value]:
    """What a text is put together from; itself where that is not known."""
    how, parts = machine.text_parts[value.of - 1] if isinstance(value, Text) and value.of else ("", ())
    if how != "text":
        yield value
    for part in parts if how == "text" else ():
        yield from pieces(machine, part)


def beginning(machine: AnyMachine, value: Value) -> str:
    """What a text surely begins with."""
    return _written(list(takewhile(lambda part: isinstance(part, Const), pieces(machine, value))))


def _written(parts: list[Value]) -> str:
    return "".join(str(part.value) for part in parts if isinstance(part, Const))


def _completed(
    machine: AnyMachine, name: Value, part: Value, ends: tuple[str, str], names: Iterable[str], raises: bool
) -> Value:  # fmt: skip
    """The names that begin and end like that, by what the part between is then."""
    first, last = ends
    if isinstance(part, Const):
        return Const(f"{first}{part.value}{last}")
    if not isinstance(part, Obj) or domains.stands_for_each(part):
        return name
    size = len(first) + len(last)
    fitting = [each for each in names if len(each) > size and each.startswith(first) and each.endswith(last)]
    if not fitting or len(fitting) > BUDGET.options:
        return name
    asked = [(domains.equals(machine, part, each[len(first) : len(each) - len(last)]), each) for each in fitting]
    found: list[tuple[PathCondition, Value]] = [
        (taken, Const(each)) for path, each in asked if (taken := TRUE.add(path))
    ]
    other = TRUE.add(either([path for path, _ in asked]), False)
    if raises:
        machine.guard = machine.checked_path(machine.guard, machine.guard.add(either([path for path, _ in asked])))
    elif other is not None:
        found.append((other, name))
    return choose(found) if found else name


def _held(machine: AnyMachine, holder: Value) -> Iterable[str]:
    """The names that a file binds, or that a class or an object has by its class."""
    if isinstance(holder, ModRef):
        return holder.module.bindings
    cls = _class(machine, holder)
    bases = machine.mro(cls) if cls is not None else []
    return dict.fromkeys(name for base in bases if isinstance(base, ClassV) for name in class_body(base.node))


def _is_known(machine: AnyMachine, holder: Value) -> bool:
    """Is all that it has written in the source, and nothing put there by a name that is not?"""
    if isinstance(holder, ModRef):
        return not holder.module.stars and not registries.writes_globals(holder.module)
    cls = _class(machine, holder)
    made_here = isinstance(holder, Obj) and holder.atom.cls is cls and not holder.atom.filled_before
    return cls is not None and machine.closed_class(cls) and (made_here or holder is cls)


def _class(machine: AnyMachine, holder: Value) -> ClassV | None:
    return machine.class_of(holder) if isinstance(holder, Obj) else holder if isinstance(holder, ClassV) else None
