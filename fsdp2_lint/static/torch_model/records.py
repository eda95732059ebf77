"""Objects of classes of the project that a library fills: out of a command line, a file or a dict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import ClassV, Ext, Obj, Value
from .tables import external

if TYPE_CHECKING:
    from ..interp.call import Call
    from ..interp.interpreter import Interpreter

_CONSTRUCTORS = frozenset(  # class methods of pydantic's models that return an object of the class they are called on
    """model_validate model_validate_json model_validate_strings model_construct
    parse_obj parse_raw parse_file from_orm construct""".split()
)
_BASES = frozenset({"pydantic.BaseModel", "pydantic_settings.BaseSettings"})


@external("tyro.cli", "draccus.parse", "dacite.from_dict", "simple_parsing.parse")
def parsed(machine: Interpreter, call: Call) -> Value:
    """The class that is to be filled comes first; what is returned is an object of it."""
    made = machine.call_other(machine.called_name, call)
    names = ("f", "config_class", "data_class")
    classes = [*call.args[:1], *(value for name, value in call.kwargs.items() if name in names)]
    return as_object_of(machine, classes[0], made) if classes else made


def made_by_class(machine: Interpreter, cls: ClassV, name: str, made: Value) -> Value:
    """What a class method returned that the class has from a library."""
    inherited = any(isinstance(base, Ext) and base.qname in _BASES for base in machine.mro(cls))
    own = machine.class_member(cls, name) is not None
    return as_object_of(machine, cls, made) if name in _CONSTRUCTORS and inherited and not own else made


def as_object_of(machine: Interpreter, cls: Value, made: Value) -> Value:
    if isinstance(cls, ClassV) and isinstance(made, Obj):
        machine.types.setdefault(made, cls)
    return made
