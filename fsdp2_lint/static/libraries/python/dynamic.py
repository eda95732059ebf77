"""Built-ins that reach names behind the text, such as ``exec``, ``globals`` and ``dir``, and ``inspect``."""

from __future__ import annotations

import ast

from astroid import nodes

from ...budget import BUDGET
from ...domain.values import (
    NONE,
    AbstractObject,
    Bound,
    ClassV,
    Const,
    Ext,
    Func,
    ListV,
    ModRef,
    Obj,
    TupleV,
    Value,
    unknown,
)
from ...interpreter.call import Call
from ...interpreter.syntax import class_body
from ..interface import Machine
from ..tables import external


@external("builtins.exec", "builtins.eval")
def run_text(machine: Machine, call: Call) -> Value:
    """Text that is run: it has whatever it names in its hands; one that is not known names all there is."""
    text = call.args[0] if call.args else NONE
    if call.name == "builtins.eval" and _is_setting(machine, text):
        return unknown("eval()", kind="configuration")
    names = _names(text.value) if isinstance(text, Const) and isinstance(text.value, str) else None
    held = {name: value for name, value in visible(machine).items() if names is None or name in names}
    who = f"{call.name.rsplit('.', 1)[-1]}()"
    made = machine.libraries.not_known(who, Call(call.node, [*call.all, *held.values()]))
    if who == "exec()" and machine.frame.func is None:
        for name in [name for name, value in held.items() if isinstance(value, Const)]:
            machine.bind_local(name, unknown(name, kind="configuration"))
    return made


def _is_setting(machine: Machine, text: Value) -> bool:
    """Is it what somebody writes to a program, such as ``1/3``: an expression for a value, which changes nothing?"""
    leaves = [leaf for _, leaf in machine.alternatives(text)]
    return bool(leaves) and all(isinstance(leaf, Obj) and leaf.atom.kind == "configuration" for leaf in leaves)


def _names(text: str) -> frozenset[str] | None:
    """What a text names; None where it reaches further than its names."""
    try:
        found = {node.id for node in ast.walk(ast.parse(text.strip())) if isinstance(node, ast.Name)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return None if found & {"exec", "eval", "globals", "locals", "vars"} else frozenset(found)


def visible(machine: Machine) -> dict[str, Value]:
    """The names that code at this place sees, and what they hold."""
    frame, state = machine.frame, machine.store.state
    scopes: list[object] = [frame.module]
    at = frame.id if frame.func is not None else 0
    while at:
        scopes.insert(1, at)
        at = machine.closures.get(at, 0)
    names = {key: value for key, value in state.items() if isinstance(key, tuple) and key[0] in scopes}
    return {name: value for scope in scopes for (owner, name), value in names.items() if owner == scope}


@external("builtins.globals")
def global_names(machine: Machine, call: Call) -> Value:
    """The file itself: what is looked up or stored in it by a name is that global."""
    return ModRef(machine.frame.module)


@external("builtins.locals")
def local_names(machine: Machine, call: Call) -> Value:
    if machine.frame.func is None:
        return ModRef(machine.frame.module)
    made = AbstractObject("opaque", origin="locals()", site=machine.site(call.node))
    made.keeps = tuple(visible(machine).values())
    return made.root


@external("builtins.vars")
def attributes(machine: Machine, call: Call) -> Value:
    """The dict of an object's attributes is that object, as far as changes go."""
    if not call.args:
        return local_names(machine, call)
    return machine.over(call.args[0], lambda leaf: machine.get_attr(leaf, "__dict__", call.node))


@external("builtins.dir")
def names(machine: Machine, call: Call) -> Value:
    """The names of what a class of the project and its bases have, and of what an object of it was given."""
    return machine.over(call.arg(0) or NONE, lambda leaf: _names_of(machine, leaf))


def _names_of(machine: Machine, leaf: Value) -> Value:
    cls = machine.class_of(leaf) if isinstance(leaf, Obj) else leaf
    if not isinstance(cls, ClassV):
        return unknown("dir()", kind="opaque")
    own = machine.store.fields.get(leaf, ()) if isinstance(leaf, Obj) else ()
    found = {name for name in own if name.isidentifier()}
    for base in machine.mro(cls):
        if isinstance(base, ClassV):
            made = class_body(base.node).items()
            found |= {name for name, node in made if not isinstance(node, nodes.AnnAssign) or node.value is not None}
    if len(found) > BUDGET.dir_names:
        return unknown("dir()", kind="opaque")
    whole = all(isinstance(base, ClassV) or base == Ext("builtins.object") for base in machine.mro(cls))
    more = "" if whole else "attributes of a base that was not seen"
    return machine.new_list([Const(name) for name in sorted(found)], exact=whole, open_why=more)


_METHODS: dict[Value, tuple[type, ...]] = {
    Ext("inspect.ismethod"): (Bound,),
    Ext("inspect.isfunction"): (Func,),
    Ext("inspect.isroutine"): (Bound, Func),
}


@external("inspect.getmembers")
def members(machine: Machine, call: Call) -> Value:
    """The methods of an object of the project, by name; anything else that is asked for is not followed."""
    wanted = _METHODS.get(call.arg(1, "predicate") or NONE)
    if wanted is None:
        return machine.libraries.not_known(call.name, call)
    return machine.over(call.arg(0) or NONE, lambda leaf: _methods_of(machine, leaf, wanted, call))


def _methods_of(machine: Machine, leaf: Value, wanted: tuple[type, ...], call: Call) -> Value:
    cls = machine.class_of(leaf) if isinstance(leaf, Obj) else leaf
    named = _names_of(machine, leaf)
    if not isinstance(cls, ClassV) or not isinstance(named, ListV):
        return machine.libraries.not_known(call.name, Call(call.node, [leaf]))
    held = machine.items(named)
    found: list[Value] = []
    exact, why = held.exact, held.open_why
    for name in (name for _, name in held.items if isinstance(name, Const)):
        value = machine.get_attr(leaf, name.value, call.node)
        leaves = [each for _, each in machine.alternatives(value)]
        if any(isinstance(each, wanted) for each in leaves):
            found.append(TupleV((name, value)))
            exact = exact and all(isinstance(each, wanted) for each in leaves)
        elif any(isinstance(each, Obj) and each.atom.kind in ("opaque", "parameter") for each in leaves):
            why = why or f"whether {name.value} is a method"
    return machine.new_list(found, exact=exact, open_why=why)


@external("functools.reduce")
def reduce(machine: Machine, call: Call) -> Value:
    """The function is applied to one element after the other, or once for all that are not known one by one."""
    if len(call.args) < 2:
        return unknown("reduce()")
    held = machine.listing(call.args[1])
    rest = [value for _, value in held.items]
    result = call.args[2] if len(call.args) > 2 else rest.pop(0) if rest else NONE
    for element in rest:
        result = machine.call(call.args[0], Call(call.node, [result, element]))
    open_ended = held.open_why or not held.exact
    return unknown("reduce()", kind="opaque") if open_ended and isinstance(call.args[1], (ListV, Obj)) else result
