"""Objects of classes of the project that a library fills: out of a command line, a file or a dict."""

from __future__ import annotations

from astroid import nodes

from ....vocab.declared import record
from ...budget import BUDGET
from ...domain.values import AbstractObject, ClassV, Const, DictV, Ext, Func, ListV, Obj, Text, TupleV, Value, unknown
from ...frontend.origins import full_name
from ...interpreter.call import Call
from ...interpreter.syntax import class_body, is_dataclass, is_field
from ..interface import Machine
from ..tables import external
from . import commands

_CONSTRUCTORS = frozenset(  # class methods of pydantic's models that return an object of the class they are called on
    """model_validate model_validate_json model_validate_strings model_construct
    parse_obj parse_raw parse_file from_orm construct""".split()
)
_READS = frozenset("model_validate_json parse_raw parse_file".split())  # as json.load does
_PARSES = frozenset({"parse_args_into_dataclasses", "parse_json_file", "parse_yaml_file", "parse_dict"})
_CHECKS = ("__post_init__", "__attrs_post_init__")
_BASES = frozenset({"pydantic.BaseModel", "pydantic_settings.BaseSettings"})


# Where these take the class that is to be filled: its position and its keyword.
_TAKES: dict[str, tuple[int | None, str]] = {
    "tyro.cli": (0, "f"), "draccus.parse": (0, "config_class"), "simple_parsing.parse": (0, "config_class"),
    "dacite.from_dict": (0, "data_class"), "chz.entrypoint": (0, "target"), "cattrs.structure": (1, "cl"),
    "msgspec.convert": (1, "type"), "msgspec.json.decode": (None, "type"), "msgspec.yaml.decode": (None, "type"),
}  # fmt: skip


@record
class Described:
    """The classes of the objects that come out of a parser, or of settings."""

    classes: tuple[Value, ...]


@external(*_TAKES)
def parsed(machine: Machine, call: Call) -> Value:
    """What is returned is an object of the class that is to be filled."""
    name = call.name
    if isinstance(call.arg(*_TAKES[name]), Func):  # a command, of which the options are the parameters
        return commands.run(machine, call)
    made, cls = machine.libraries.call_other(name, call), call.arg(*_TAKES[name])
    return as_object_of(machine, cls, made, call) if cls is not None else made


@external("transformers.HfArgumentParser", "omegaconf.OmegaConf.structured", "omegaconf.OmegaConf.merge")
def made_for(machine: Machine, call: Call) -> Value:
    """A parser, or settings that a class describes: it is remembered which objects come out of it."""
    made, described = machine.libraries.call_other(call.name, call), call.arg(0, "dataclass_types")
    if isinstance(made, Obj) and described is not None:
        made.atom.know(Described(_classes(machine, described)))
    return made


def _classes(machine: Machine, described: Value) -> tuple[Value, ...]:
    if isinstance(described, Obj):
        cls = machine.class_of(described)
        return (cls,) if cls is not None else _known(described)
    if isinstance(described, ClassV):
        return (described,)
    held = tuple(item for _, item in machine.listing(described).items)
    return held if all(isinstance(item, ClassV) for item in held) else ()


def _known(described: Obj) -> tuple[Value, ...]:
    """The classes of what comes out of it; none where they are not known."""
    state = described.atom.state(Described)
    return state.classes if state is not None else ()


@external("omegaconf.OmegaConf.to_object")
def to_object(machine: Machine, call: Call) -> Value:
    made, settings = machine.libraries.call_other(call.name, call), call.arg(0, "cfg")
    known = _known(settings) if isinstance(settings, Obj) and settings.parent is None else ()
    return as_object_of(machine, known[0], made, call) if known else made


def parsed_by(machine: Machine, parser: Obj, name: str, call: Call) -> Value | None:
    """What a parser gives for the classes that it was made for; None where that is not what happens."""
    known = _known(parser) if name in _PARSES and parser.parent is None else ()
    if not known or "return_remaining_strings" in call.kwargs:
        return None
    made = [AbstractObject("configuration", origin=f"{name}()", site=machine.site(call.node)).root for _ in known]
    return TupleV(tuple(as_object_of(machine, cls, one, call) for cls, one in zip(known, made)))


@external("dataclasses.replace", "attrs.evolve", "attr.evolve")
def changed(machine: Machine, call: Call) -> Value:
    """A copy of a record, with other values in some of its fields."""

    def one(leaf: Value) -> Value:
        made = copied_record(machine, leaf) if isinstance(leaf, Obj) else None
        for name, value in call.kwargs.items() if made is not None else ():
            machine.store.put((made, name), value)
        return made or machine.libraries.call_other("dataclasses.replace", call)

    return machine.over(call.args[0], one) if call.args else unknown("replace()")


@external("dataclasses.asdict", "attrs.asdict", "attr.asdict")
def as_dict(machine: Machine, call: Call) -> Value:
    """What is in the fields of a record, by their names; records in it are dicts as well."""

    def one(leaf: Value, depth: int = 0) -> Value:
        names = _field_names(machine, leaf) if isinstance(leaf, Obj) and depth < BUDGET.held_depth else None
        if names is None:
            return leaf if depth else machine.libraries.call_other(call.name, call)
        made = machine.new_dict()
        for name in names:
            value = machine.over(machine.get_attr(leaf, name, call.node), lambda part: one(part, depth + 1))
            machine.set_item(made, Const(name), value, call.node)
        return made

    return machine.over(call.args[0], one) if call.args else unknown("asdict()")


@external("dataclasses.is_dataclass")
def is_record(machine: Machine, call: Call) -> Value:
    """Decided for classes of the project, for their objects, and for what is no object of any such class."""

    def one(leaf: Value) -> Value:
        if isinstance(leaf, (Const, Text, ListV, DictV, TupleV)):
            return Const(False)
        cls = machine.class_of(leaf) if isinstance(leaf, Obj) else leaf
        bases = machine.mro(cls) if isinstance(cls, ClassV) else []
        made = [base for base in bases if isinstance(base, ClassV)]
        if any(is_dataclass(base.node) for base in made):
            return Const(True)
        plain = all(base in made and base.node.decorators is None or base == Ext("builtins.object") for base in bases)
        return Const(False) if made and plain else machine.libraries.call_other(call.name, call)

    return machine.over(call.args[0], one) if call.args else unknown("is_dataclass()")


@external("dataclasses.fields")
def fields_of(machine: Machine, call: Call) -> Value:
    """An object for each field, with its name and, where it is written there, its default."""
    given = call.arg(0, "class_or_instance")
    cls = given.atom.cls if isinstance(given, Obj) and given.parent is None else given
    bases = list(reversed(machine.mro(cls))) if isinstance(cls, ClassV) else []
    found = {name: (base, node) for base in bases if isinstance(base, ClassV) for name, node in _fields(base)}
    plain = (isinstance(base, ClassV) or base == Ext("builtins.object") for base in bases)
    if not bases or not all(plain) or any(map(_only_for_init, (node for _, node in found.values()))):
        return machine.libraries.call_other(call.name, call)
    return TupleV(tuple(_described(machine, base, name, node, call) for name, (base, node) in found.items()))


def _described(machine: Machine, cls: ClassV, name: str, node: nodes.AnnAssign, call: Call) -> Obj:
    made = AbstractObject("unknown", origin="dataclasses.fields()", site=machine.site(call.node)).root
    machine.store.put((made, "name"), Const(name))
    if node.value is not None and not isinstance(node.value, nodes.Call):
        machine.store.put((made, "default"), machine.get_attr(cls, name, call.node))
    return made


def _fields(cls: ClassV) -> list[tuple[str, nodes.AnnAssign]]:
    return [(name, node) for name, node in class_body(cls.node).items() if is_field(node)]


def _only_for_init(node: nodes.AnnAssign) -> bool:
    """Is it no field, although it is written like one?"""
    kind = full_name(getattr(node.annotation, "value", node.annotation))
    return kind in ("dataclasses.InitVar", "dataclasses.KW_ONLY")


def _field_names(machine: Machine, record: Obj) -> list[str] | None:
    """The fields of a record that the program built, those of its bases first; None for anything else."""
    cls = record.atom.cls
    if not isinstance(cls, ClassV) or record.parent is not None or machine.is_module_class(cls) is not False:
        return None
    bases = [base for base in reversed(machine.mro(cls)) if isinstance(base, ClassV)]
    return list(dict.fromkeys(name for base in bases for name, node in class_body(base.node).items() if is_field(node)))


def fields_by_name(machine: Machine, record: Obj) -> DictV | None:
    """``record.__dataclass_fields__``; None for what is no record of the project."""
    names = _field_names(machine, record)
    return machine.new_dict({Const(name): unknown("a field") for name in names}) if names else None


def copied_record(machine: Machine, obj: Obj) -> Obj | None:
    """Another object of a class of the project, with the same in its fields; None for what may be a module."""
    cls = obj.atom.cls
    built = obj.parent is None and obj.atom.kind == "instance" and isinstance(cls, ClassV)
    if not built or not isinstance(cls, ClassV) or machine.is_module_class(cls) is not False:
        return None
    copy = AbstractObject("instance", cls=cls, origin=cls.name, site=obj.atom.site)
    copy.note_as_of(obj.atom)
    for name in list(machine.store.fields.get(obj, ())):
        if (value := machine.store.get((obj, name))) is not None:
            machine.store.put((copy.root, name), value)
    return copy.root


def deep_copied_record(machine: Machine, obj: Obj) -> Obj | None:
    """A deep copy of a record; None for what may hold a module, of which there are two then."""
    held = [machine.store.get((obj, name)) for name in machine.store.fields.get(obj, ())]
    leaves = [leaf for value in held if value is not None for leaf in machine.inside(value)]
    if any(isinstance(leaf, Obj) and machine.libraries.could_be_module(leaf) for leaf in leaves):
        return None
    copy = copied_record(machine, obj)
    for name in machine.store.fields.get(copy, ()) if copy is not None else ():
        value = machine.store.get((copy, name))
        if isinstance(value, (ListV, DictV)):
            own = type(value)(machine.fresh())
            machine.store.put(own.id, machine.store.get(value.id))
            machine.store.put((copy, name), own)
    return copy


def made_by_class(machine: Machine, cls: ClassV, name: str, made: Value, call: Call) -> Value:
    """What a class method returned that the class has from a library."""
    if name not in _CONSTRUCTORS or not _inherits(machine, cls) or machine.class_member(cls, name) is not None:
        return made
    told = {machine.per_rank(value) for value in call.all}
    if isinstance(made, Obj) and (told == {False} or told == {None} and name in _READS):
        made.atom.shared = True  # it holds what settings say, checked
    return as_object_of(machine, cls, made, call)


def _inherits(machine: Machine, cls: ClassV) -> bool:
    return any(isinstance(base, Ext) and base.qname in _BASES for base in machine.mro(cls))


def as_object_of(machine: Machine, cls: Value, made: Value, call: Call) -> Value:
    """It has been filled, the records in it first, and has checked itself as its class says."""
    if isinstance(cls, ClassV) and isinstance(made, Obj) and made not in machine.types:
        machine.types[made] = cls
        _fill_fields(machine, made, cls, call)
        for name in _CHECKS:
            if (own := machine.class_member(cls, name)) is not None:
                _run(machine, made, own, call)
        validated(machine, made, cls, call)
    return made


def _fill_fields(machine: Machine, made: Obj, cls: ClassV, call: Call) -> None:
    """Fields that are records themselves, as their annotations say; a record that holds itself ends somewhere."""
    bases = [base for base in machine.mro(cls) if isinstance(base, ClassV) and len(made.path) < BUDGET.held_depth]
    fields = [(base, node) for base in bases for node in class_body(base.node).values()]
    for base, node in fields:
        if isinstance(node, nodes.AnnAssign) and (inner := machine.annotated_class(base.module, node.annotation)):
            held = machine.get_attr_of(made, node.target.name, node)
            if isinstance(held, Obj) and (held.parent is not None or held.atom.kind != "instance"):
                machine.types.pop(held, None)
                as_object_of(machine, inner, held, call)


def validated(machine: Machine, made: Obj, cls: ClassV, call: Call) -> None:
    """What a model of pydantic checks when all of its fields are there."""
    if not _inherits(machine, cls):
        return
    if made.atom.kind == "instance":
        _fill_fields(machine, made, cls, call)
    bases = [base for base in reversed(machine.mro(cls)) if isinstance(base, ClassV)]
    names = {name: None for base in bases for name, node in class_body(base.node).items() if _checks(node)}
    for name in names:
        if (own := machine.class_member(cls, name)) is not None and _checks(own[1]):
            _run(machine, made, own, call)


def _checks(node: nodes.NodeNG) -> bool:
    """Is it decorated by ``model_validator(mode="after")``, or does pydantic call it by its name?"""
    if not isinstance(node, nodes.FunctionDef) or node.decorators is None:
        return isinstance(node, nodes.FunctionDef) and node.name == "model_post_init"
    calls = [part for part in node.decorators.nodes if isinstance(part, nodes.Call)]
    after = [call for call in calls if any(each.value.as_string() == "'after'" for each in call.keywords)]
    return any(full_name(call.func) == "pydantic.model_validator" for call in after)


def _run(machine: Machine, made: Obj, own: tuple[ClassV, nodes.NodeNG], call: Call) -> None:
    owner, node = own
    if isinstance(node, nodes.FunctionDef):
        func = Func(owner.module, node, owner.closure, owner)
        given = [unknown("what pydantic hands to it")] * (len(node.args.args) - 1)
        machine.call_function(func, list(given), {}, call.node, receiver=made)
