"""What subclasses, and what is decorated, enter into the tables of a class or of an object while files are imported."""

from __future__ import annotations

from functools import partial

from astroid import nodes

from ...domain.values import NONE, ClassV, Const, Func, Value, unknown
from ...frontend.module import Module
from ..expressions.registries import mentions, registrations
from ..machine import AnyMachine
from ..syntax import class_body, decorator_names

HOOK = "__init_subclass__"
SUBCLASSES = "__subclasses__"
_DESCRIPTORS = frozenset({"staticmethod", "classmethod", "property", "cached_property"})


def fill(machine: AnyMachine, cls: ClassV) -> None:
    """Run what the file of a class, and those that import it, enter into its tables."""
    run_decorators(machine, cls.module, cls.name)
    for module in machine.deriving(cls.module) if machine.class_member(cls, HOOK) is not None else ():
        for node in module.tree.body:
            if isinstance(node, nodes.ClassDef):
                _tell_in(machine, module, ClassV(module, node))


def run_decorators(machine: AnyMachine, module: Module, name: str) -> None:
    """``@NAME.register(...)`` in the file that binds the name, and in those that import it; ``NAME.add(...)`` likewise.

    Also what is decorated so in functions that such a file calls while it is imported.
    """
    if not any(machine.project.mentions(written) for written in (f"@{name}", f"\n{name}.")):
        return
    for each in machine.importing(module, [name]):
        writers = {name} if machine.runs_as_script(each) else {name, *_registering(each, name)}
        for node in registrations(each.tree.body, writers):
            if isinstance(node, (nodes.FunctionDef, nodes.ClassDef)) or not machine.runs_as_script(each):
                machine.in_module(each, partial(machine.register, each, node))


def _registering(module: Module, name: str) -> list[str]:
    """Functions of a file that register what they define."""
    functions = [node for node in module.tree.body if isinstance(node, nodes.FunctionDef)]
    return [node.name for node in functions if any(_is_registered(each, name) for each in node.body)]


def _is_registered(node: nodes.NodeNG, name: str) -> bool:
    decorators = getattr(node, "decorators", None)
    return decorators is not None and mentions(decorators, {name})


def _tell_in(machine: AnyMachine, module: Module, cls: ClassV) -> None:
    machine.in_module(module, lambda: tell(machine, cls))


def tell(machine: AnyMachine, cls: ClassV) -> Value:
    """A class has come into being: ``__init_subclass__`` of its bases runs, once."""
    found = machine.class_member(cls, HOOK, behind=cls) if cls not in machine.told else None
    machine.told.add(cls)
    if found is not None and isinstance(found[1], nodes.FunctionDef):
        owner, node = found
        given = {
            each.arg: machine.eval(each.value) for each in cls.node.keywords if each.arg not in (None, "metaclass")
        }
        hook = Func(owner.module, node, owner.closure, owner)
        machine.call_function(hook, [], given, cls.node, receiver=cls)
    return NONE


def subclasses(machine: AnyMachine, cls: ClassV) -> Value:
    """``cls.__subclasses__()``: the classes that a file binds whose base it is, in files that the program imports.

    What a script imports is known; of what no script calls, others may have imported more.
    """
    here = machine.frames[0].module.path
    found: dict[Value, None] = {}
    for path in machine.project.heirs_of(cls.module.path, cls.name):
        module = machine.project.module(path)
        if module is not None and (not machine.whole or here in machine.project.all_loading(path)):
            classes = [node for bound in module.bindings.values() for node in bound if isinstance(node, nodes.ClassDef)]
            found.update((made, None) for node in classes if cls in _bases(machine, made := ClassV(module, node)))
    why = "" if machine.whole else "no script was seen that imports what derives from it"
    return machine.new_list([*found], exact=machine.whole, open_why=why)


def _bases(machine: AnyMachine, cls: ClassV) -> list[Value]:
    values = [machine.base_class(cls, base) for base in cls.node.bases]
    return [leaf for value in values for _, leaf in machine.alternatives(value)]


def own_names(machine: AnyMachine, cls: ClassV) -> Value:
    """``Class.__dict__``: what its body binds, by name, without what it inherits."""
    entries: dict[Value, Value] = {}
    for name, node in class_body(cls.node).items():
        if not isinstance(node, nodes.AnnAssign) or node.value is not None:
            wrapped = isinstance(node, nodes.FunctionDef) and _DESCRIPTORS & set(decorator_names(node))
            entries[Const(name)] = unknown(f"{cls.name}.{name}") if wrapped else machine.class_attr_value(cls, name)
    return machine.new_dict(entries)
