"""``Pair = namedtuple("Pair", "model optimizer")``: a class that is made by a call."""

from __future__ import annotations

import ast
from keyword import iskeyword

from astroid import nodes

from ...domain.values import ClassV, Const, Ext, ListV, TupleV, Value
from ...frontend.module import rebuild
from ...interpreter.call import Call
from ..interface import Machine
from ..tables import external


@external("collections.namedtuple", "typing.NamedTuple")
def named_tuple(machine: Machine, call: Call) -> Value:
    names = _field_names(machine, call)
    if names is None or not isinstance(call.node, nodes.Call):
        return machine.libraries.not_known(call.name, call)
    made = ClassV(machine.frame.module, _class(call.node, names))
    machine.mros[made] = [made, Ext("typing.NamedTuple")]
    return made


def _field_names(machine: Machine, call: Call) -> list[str] | None:
    """The fields in order: a text of names, names, or pairs of a name and a type; None where one is not known."""
    given = call.arg(1, "field_names") or call.arg(None, "fields")
    if isinstance(given, Const) and isinstance(given.value, str):
        names: list[object] = list(given.value.replace(",", " ").split())
    elif isinstance(given, (ListV, TupleV)) and machine.listing(given).exact:
        items = [item.items[0] if isinstance(item, TupleV) else item for _, item in machine.listing(given).items]
        names = [item.value if isinstance(item, Const) else None for item in items]
    else:
        return None
    return [str(name) for name in names] if all(_is_name(name) for name in names) else None


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and not iskeyword(name)


def _class(call: nodes.Call, names: list[str]) -> nodes.ClassDef:
    """The class as it would be written out; it stands where the call stands."""
    found: nodes.ClassDef | None = getattr(call, "fsdp2_class", None)
    if found is None:
        body = "".join(f"    {name}: object\n" for name in names) or "    pass\n"
        found = rebuild(ast.parse(f"class {_title(call)}:\n{body}"), "", "", False).body[0]
        found.lineno, found.col_offset = call.lineno, call.col_offset
        found.end_lineno, found.end_col_offset = call.end_lineno, call.end_col_offset
        call.fsdp2_class = found
    return found


def _title(call: nodes.Call) -> str:
    title = call.args[0].value if call.args and isinstance(call.args[0], nodes.Const) else None
    return title if isinstance(title, str) and title.isidentifier() and not iskeyword(title) else "NamedTuple"
