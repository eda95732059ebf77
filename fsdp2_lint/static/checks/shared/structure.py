"""What a module is made of, as far as its construction was followed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...budget import BUDGET
from ...domain import events
from ...domain.says import Says
from ...domain.values import ASIDE, SOME, ClassV, Ext, Obj, Value, is_each
from ...frontend.packages import builds_models
from ...interpreter.expressions.numbers import said_by
from ...interpreter.syntax import class_body
from ...libraries.interface import Machine
from ...libraries.torch.sharding.module_tree import CONTAINERS, FREE, PARAMETRIC, contents, layer_base
from ...libraries.torch.sharding.sizes import Size


def stack_of_blocks(machine: Machine, obj: Obj) -> str:
    """The name of a list of blocks below ``obj``, or what to call its parts if it is a stack of them itself."""
    each, parts = _stacked(machine, obj)
    kinds = Counter(part.atom.cls for part in parts)  # several layers are no stack: of some kind there are several
    return "its modules" if each or max(kinds.values(), default=0) > 2 else _stack_below(machine, obj)


def _stack_below(machine: Machine, obj: Obj, depth: int = 0) -> str:
    for child, (holder, name) in machine.parents.items():
        if holder is not obj or depth > BUDGET.module_depth:
            continue
        each, parts = _stacked(machine, child)
        if each or len(parts) > 2:
            return name
        if found := _stack_below(machine, child, depth + 1):
            return f"{name}.{found}"
    return ""


def _stacked(machine: Machine, obj: Obj) -> tuple[bool, list[Obj]]:
    """The modules with parameters in a container: does one stand for each of them, and which are there?"""
    cls = obj.atom.cls
    if not isinstance(cls, Ext) or cls.qname not in CONTAINERS or contents(machine, obj) is None:
        return False, []
    held = {item: at for item, (holder, at) in machine.parents.items() if holder is obj}
    parts = [item for item in held if has_parameters(machine, item)]
    return any(is_each(held[item]) for item in parts), parts


def has_parameters(machine: Machine, obj: Obj, depth: int = 0) -> bool:
    cls = obj.atom.cls
    if owns_parameters(obj) or isinstance(cls, ClassV) and layer_base(machine, cls).rsplit(".", 1)[-1] in PARAMETRIC:
        return True
    parts = [child for child, (holder, _) in machine.parents.items() if holder is obj]
    return depth < BUDGET.module_depth and any(has_parameters(machine, child, depth + 1) for child in parts)


def size(machine: Machine, obj: Obj, depth: int = 0, repeats: int = 0, *, by_default: bool = False) -> int | None:
    """The number of parameters; ``repeats``: how often parts of unknown number are taken to be there.

    ``by_default``: where nobody gives another value on the command line.
    """
    if obj.atom.kind not in ("instance", "external") or obj.parent is not None or depth > BUDGET.module_depth:
        return None
    known = obj.atom.state(Size)
    if isinstance(obj.atom.cls, Ext):
        name = obj.atom.cls.qname.rsplit(".", 1)[-1]
        if known is not None and known.parameters is not None:
            return known.parameters
        if by_default and known is not None and known.by_default is not None:
            return known.by_default
        if name in FREE:
            return 0
        if obj.atom.cls.qname not in (*CONTAINERS, "torch.nn.TransformerEncoder"):
            return None
    total = known.parameters if known is not None else 0
    if total is None:
        return None
    for child, (holder, where) in machine.parents.items():
        if holder is obj and not _takes_place(obj, child, where) and not _is_number(child):
            part = size(machine, child, depth + 1, repeats, by_default=by_default)
            times = (child.atom.times or repeats) if is_each(where) else 1
            if part is None or not times:
                return None
            total += part * times
    return total


def sized_by(machine: Machine, obj: Obj) -> Says:
    """Who says how large a model of unknown size is."""
    cls = obj.atom.cls
    foreign = isinstance(cls, Ext) and not of_torch(cls)
    if foreign or obj.parent is not None or obj.atom.kind not in ("instance", "external"):
        return said_by(machine, obj)
    if isinstance(cls, ClassV) and not machine.closed_class(cls):
        return Says.OUTSIDE
    sizes = [(leaf.atom, leaf.atom.state(Size)) for _, leaf in leaves(machine, obj)]
    open_ = [atom.sized_by for atom, known in sizes if known is None or known.parameters is None]
    parts = [said_by(machine, part) for part in opaque_parts(machine, obj)]
    return max((*parts, *(Says.OUTSIDE if says is None else says for says in open_)), default=Says.OUTSIDE)


def of_torch(cls: Value | None) -> bool:
    """Is it a layer of torch, which says what it is made of?"""
    return isinstance(cls, Ext) and cls.qname.startswith("torch.nn.")


def _is_number(child: Obj) -> bool:
    """Is it what a loop counts or a calculation gives, such as the number of a layer?"""
    return child.atom.kind == "unknown" and (child.atom.number or child.atom.origin == "range")


def _takes_place(layer: Obj, child: Obj, name: str) -> bool:
    """Is it a parameter of a layer of known size, put where one was: its ``weight``, or each by its own name?"""
    given = child.atom.parameter is not None
    return given and layer.atom.state(Size) is not None and name in ("weight", "bias", SOME)


def leaves(machine: Machine, obj: Obj, prefix: str = "", depth: int = 0) -> list[tuple[str, Obj]]:
    """Modules and parameters below ``obj`` that own parameters themselves."""
    found: list[tuple[str, Obj]] = []
    for child, (holder, name) in machine.parents.items():
        if holder is not obj or depth > BUDGET.module_depth:
            continue
        where = f"{prefix}{name}"
        if owns_parameters(child):
            found.append((where, child))
        else:
            found += leaves(machine, child, f"{where}.", depth + 1)
    return found


def opaque_parts(machine: Machine, obj: Obj, depth: int = 0) -> list[Obj]:
    """Parts of which nobody knows what they are made of: given to it, or built by another package."""
    found = []
    for child, (holder, _) in machine.parents.items():
        if holder is not obj or depth > BUDGET.module_depth:
            continue
        cls = child.atom.cls
        if child.parent is not None:  # what stands at a path, its holder's class does not say
            if _is_used(machine, child):
                found.append(child)
        elif child.atom.kind == "instance" or of_torch(cls):
            found += opaque_parts(machine, child, depth + 1)
        elif child.atom.module or not machine.libraries.plain_field(child):
            found.append(child)
    return found


def _is_used(machine: Machine, path: Obj) -> bool:
    """Is it, or a part of it, sharded or called as a module, and so no setting that was copied?"""
    used = [part for step in machine.trace.of(events.Sharded) for part in step.what.group]
    used += [step.subject for step in machine.trace.of(events.Called) if step.subject is not None]
    return any(path in part.above for part in used)


def parts_unseen(machine: Machine, model: Obj, label: str) -> str:
    """Why nobody knows what a model is made of; empty where all of it was built in code that was followed."""
    cls = model.atom.cls
    unseen = f"what {label} is made of is not known"
    if model.parent is not None or model.atom.kind not in ("instance", "external"):
        return unseen
    if isinstance(cls, Ext) and not of_torch(cls):
        return unseen
    if isinstance(cls, ClassV) and not machine.closed_class(cls):
        return f"a base class of {label} was not seen"
    return unseen if opaque_parts(machine, model) else ""


def owns_parameters(obj: Obj) -> bool:
    """A layer of ``torch.nn`` with weights, a trainable ``nn.Parameter``, or the embeddings of a library's model."""
    if obj.parent is not None and obj.item in ASIDE:
        return True
    if obj.parent is not None or not isinstance(obj.atom.cls, Ext):
        return False
    if obj.atom.parameter:
        return True
    return obj.atom.cls.qname.startswith("torch.nn.") and obj.atom.cls.qname.rsplit(".", 1)[-1] in PARAMETRIC


def stands_alone(obj: Obj) -> bool:
    """Is this a model of its own, or of a caller, rather than perhaps a part of another that was looked up somehow?"""
    atom = obj.atom
    if atom.kind in ("instance", "parameter", "configuration") or atom.module:
        return True
    return atom.kind == "unknown" and builds_models(atom.origin)


def perhaps_a_block(machine: Machine, obj: Obj) -> bool:
    """Has its class a method that shards, and that others of the same name call for what they are made of?"""
    bases = machine.project_classes(obj)
    return any(machine.project.is_called_in_turn(name) for base in bases for name in class_body(base.node))


def perhaps_experts(path: tuple[Any, ...]) -> bool:
    """Does a name on the path speak of experts? Each rank may have its own of these, on purpose."""
    words = " ".join(str(item) for item in path).lower()
    return "expert" in words or "moe" in words


def wrapped_by(machine: Machine, wrapper: Obj) -> list[Obj]:
    """The models that something may wrap which adds parts of its own, as adapters do: the outermost first."""
    found, left = list[Obj](), [wrapper]
    while left:
        at = left.pop()
        inner = machine.store.get((at, at.atom.wrapper)) if at.atom.wrapper else None
        new = [leaf for leaf in machine.inside(inner) if isinstance(leaf, Obj)] if inner is not None else []
        left += [each for each in new if each not in found]
        found += new
    return found


_MAKERS = frozenset({"from_pretrained", "from_config", "_from_config"})


def from_a_library(obj: Obj) -> bool:
    """A transformer of Hugging Face: a stack of blocks between embeddings and a last norm."""
    package, _, made = obj.atom.origin.partition(".")
    maker = made.rpartition(".")[2]  # of its class, or of what makes one of it: another method returns a part of it
    known = package in ("transformers", "diffusers") and (maker[:1].isupper() or maker in _MAKERS)
    return obj.parent is None and known
