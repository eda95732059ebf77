"""Single functions of Python's standard library."""

from __future__ import annotations

import ast
from dataclasses import replace
from keyword import iskeyword

from astroid import nodes

from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import Entries
from ...domain.values import Bound, ClassV, Const, DictV, Ext, Func, ListV, Obj, Params, TupleV, Value, unknown
from ...frontend.module import rebuild
from ...frontend.torch_api import keywords_in_versions
from ...interpreter.call import Call
from ...interpreter.syntax import by_position
from ..interface import Machine
from ..tables import external
from ..torch.training import generators


# -- ``itertools.groupby``: neighbours that belong together, such as the parameters of each group of an optimizer
@external("itertools.groupby")
def group_by(machine: Machine, call: Call) -> Value:
    """Any number of rows: a key, and some of the elements. The key function is run for each element that is known."""
    given = call.arg(0, "iterable") or unknown("groupby()")
    held, key = machine.iterated(given, call.node), call.arg(1, "key")
    keys = [machine.call(key, Call(call.node, [item])) for _, item in held.items] if key is not None else []
    generators.consumed(machine, given, call.node, "groupby()", whole=False)
    if isinstance(given, Params):
        group: Value = replace(given, part=True)
    else:
        group = machine.listed(replace(held, exact=False), lazy=True)
    row = TupleV((keys[0] if len(keys) == 1 else unknown("a key"), group))
    return machine.new_list([row], exact=False, open_why=held.open_why)


# -- ``Pair = namedtuple("Pair", "model optimizer")``: a class that is made by a call
@external("collections.namedtuple", "typing.NamedTuple")
def named_tuple(machine: Machine, call: Call) -> Value:
    names = _field_names(machine, call)
    if names is None or not isinstance(call.node, nodes.Call):
        return machine.libraries.not_known(call.name, call)
    return _made(machine, call.node, names, _title(call.node))


def _made(machine: Machine, node: nodes.Call, names: list[str], title: str) -> ClassV:
    made = ClassV(machine.frame.module, _class(node, names, title))
    machine.mros[made.node, made.closure] = [made, Ext("typing.NamedTuple")]
    return made


# -- ``pkgutil``: the modules of a folder
@external("pkgutil.iter_modules", "pkgutil.walk_packages")
def modules_of_folder(machine: Machine, call: Call) -> Value:
    """Any number of them; their names begin with the prefix."""
    if not isinstance(call.node, nodes.Call):
        return machine.libraries.not_known(call.name, call)
    name = unknown("the name of a module")
    name.atom.shared = True
    prefix = call.arg(1, "prefix")
    info = _made(machine, call.node, ["module_finder", "name", "ispkg"], "ModuleInfo")
    parts = [unknown("a finder of modules"), machine.text([prefix, name]) if prefix is not None else name]
    row = machine.construct(info, Call(call.node, [*parts, unknown("whether it is a package")]))
    return machine.new_list([row], exact=False)


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


def _class(call: nodes.Call, names: list[str], title: str) -> nodes.ClassDef:
    """The class as it would be written out; it stands where the call stands."""
    asked = (title, *names)  # which may be written in another file, and be others when that was edited
    kept: tuple[tuple[str, ...], nodes.ClassDef] | None = getattr(call, "fsdp2_class", None)
    found = kept[1] if kept is not None and kept[0] == asked else None
    if found is None:
        body = "".join(f"    {name}: object\n" for name in names) or "    pass\n"
        found = rebuild(ast.parse(f"class {title}:\n{body}"), "", "", False).body[0]
        found.lineno, found.col_offset = call.lineno, call.col_offset
        found.end_lineno, found.end_col_offset = call.end_lineno, call.end_col_offset
        call.fsdp2_class = asked, found
    return found


def _title(call: nodes.Call) -> str:
    title = call.args[0].value if call.args and isinstance(call.args[0], nodes.Const) else None
    return title if isinstance(title, str) and title.isidentifier() and not iskeyword(title) else "NamedTuple"


# -- ``inspect.signature``: which arguments a function takes, where it is the project's or torch's
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


def _taken(callee: Value) -> dict[str, PathCondition] | None:
    """The names that it takes, each on the path on which this torch has it; None where it is not known."""
    func = callee.func if isinstance(callee, Bound) else callee
    if isinstance(func, Func) and not func.around:
        arguments = func.node.args
        given = [*by_position(arguments), *arguments.kwonlyargs]
        rest = [name for name in (arguments.vararg, arguments.kwarg) if name]
        names = [*(each.name for each in given), *rest]
        return dict.fromkeys(names[isinstance(callee, Bound) :], TRUE)
    return _of_torch(func) if isinstance(func, Ext) else None


def _of_torch(func: Ext) -> dict[str, PathCondition] | None:
    versions = keywords_in_versions(func.qname)
    always = set.intersection(*versions) if versions else set()
    paths = {
        name: TRUE if name in always else TRUE.add(("truth", ("in the signature", func, name)))
        for name in set().union(*versions)
    }
    return {name: paths[name] or TRUE for name in sorted(paths)} if versions else None
