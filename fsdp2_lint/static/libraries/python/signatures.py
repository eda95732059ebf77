"""``inspect.signature``: which arguments a function takes, where it is the project's or torch's."""

from __future__ import annotations

from ...domain.guards import TOP, Guard
from ...domain.store import Entries
from ...domain.values import Bound, Const, DictV, Ext, Func, Obj, Value, unknown
from ...frontend.torch_api import keywords_in_versions
from ...interpreter.call import Call
from ..interface import Machine
from ..tables import external


@external("inspect.signature")
def signature(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other("inspect.signature", call)
    names = _taken(call.args[0]) if len(call.args) == 1 else None
    if isinstance(made, Obj) and names is not None:
        entries = tuple((Const(name), path, unknown("a parameter")) for name, path in names.items())
        held = DictV(machine.fresh())
        machine.store.put(held.id, Entries(entries))
        machine.store.put((made, "parameters"), held)
    return made


def _taken(callee: Value) -> dict[str, Guard] | None:
    """The names that it takes, each on the path on which this torch has it; None where it is not known."""
    func = callee.func if isinstance(callee, Bound) else callee
    if isinstance(func, Func) and not func.around:
        arguments = func.node.args
        given = [*arguments.posonlyargs, *(arguments.args or ()), *arguments.kwonlyargs]
        rest = [name for name in (arguments.vararg, arguments.kwarg) if name]
        names = [*(each.name for each in given), *rest]
        return dict.fromkeys(names[isinstance(callee, Bound) :], TOP)
    return _of_torch(func) if isinstance(func, Ext) else None


def _of_torch(func: Ext) -> dict[str, Guard] | None:
    versions = keywords_in_versions(func.qname)
    always = set.intersection(*versions) if versions else set()
    paths = {
        name: TOP if name in always else TOP.add(("truth", ("in the signature", func, name)))
        for name in set().union(*versions)
    }
    return {name: paths[name] or TOP for name in sorted(paths)} if versions else None
