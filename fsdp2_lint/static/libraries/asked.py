"""What conditions ask of an object: of which class it is, what it has, whether it is sharded."""

from __future__ import annotations

from typing import Any

from ..domain import events
from ..domain.formulas import LARGE, Formula, either, is_large
from ..domain.path_conditions import PathCondition
from ..domain.relations import Relation
from ..domain.values import BELOW, SLICE, SOME, ClassV, Ext, Obj, Value, is_call, is_each
from ..frontend.packages import is_known_class
from ..interpreter.expressions.numbers import is_multiple
from .interface import Torch
from .python import attempts
from .tables import MAKING, METHODS, TENSOR_METHODS
from .torch.sharding.module_tree import has_reset, is_layer, is_model_base, lacks_reset, layer_base

_LAYER_NAMES = frozenset(
    """weight bias in_features out_features num_embeddings embedding_dim padding_idx normalized_shape eps
    elementwise_affine kernel_size stride padding dilation groups in_channels out_channels num_heads embed_dim
    in_proj_weight out_proj num_features running_mean running_var layers num_layers hidden_size input_size p
    inplace dim approximate module""".split()
)  # fmt: skip
# Functions of torch that make a tensor of nothing, or of several; most others are methods of tensors as well.
_MADE = MAKING | frozenset(
    """tensor as_tensor from_numpy zeros ones empty full arange linspace logspace eye rand randn randint randperm
    zeros_like ones_like empty_like full_like rand_like randn_like stack cat concat concatenate hstack vstack where
    einsum""".split()
)
_WRAPPERS = (
    "torch.distributed.fsdp.FullyShardedDataParallel", "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "fairscale.nn.FullyShardedDataParallel",
)  # fmt: skip
_OF_PYTHON = tuple(map(Ext, ("builtins.object", "abc.ABC", "typing.Generic")))
_CONTAINERS = frozenset(f"builtins.{name}" for name in ("list", "tuple", "dict", "set", "frozenset", "str"))
_MODULE_NAMES = frozenset({"training", "parameters", "modules", "state_dict", "forward", "to", "device", "config"})


class Asked(Torch):
    def surely_lacks(self, obj: Obj, name: str) -> bool:
        if obj.parent is not None or hasattr_of_module(name, obj) or obj.atom.filled_before:
            return False
        cls = self.machine.class_of(obj)
        if cls is None:
            own = obj.atom.cls
            if name == "reset_parameters" and isinstance(own, Ext):
                return lacks_reset(own.qname)
            return isinstance(own, Ext) and own.qname.startswith("torch.nn.") and name not in _LAYER_NAMES
        if (base := layer_base(self.machine, cls)) and (name in _LAYER_NAMES or name == "reset_parameters"):
            return name == "reset_parameters" and lacks_reset(base)
        return obj.atom.cls is cls and self.machine.closed_class(cls)

    def surely_has(self, obj: Obj, name: str) -> bool:
        """Does it have a method by the layer of torch that it is, or is derived from?"""
        if obj.parent is not None or name != "reset_parameters":
            return False
        cls, own = self.machine.class_of(obj), obj.atom.cls
        base = layer_base(self.machine, cls) if cls is not None else own.qname if isinstance(own, Ext) else ""
        return has_reset(base)

    def has_no_such_method(self, obj: Obj, name: str) -> bool:
        """Is a call of it an AttributeError: its classes were seen whole, and nobody gave it or them another one?"""
        cls = self.machine.class_of(obj)
        if cls is None or not self.surely_lacks(obj, name) or self.machine.patched & {name, SOME}:
            return False
        given = self.machine.store.get((obj, SOME)) is not None or self.machine.project.anywhere(rf"\.{name}\s*=[^=]")
        handed = any(obj in step.what.objects for step in self.machine.trace.of(events.Escaped))
        return not given and not handed and all(map(self._is_plain_class, self.machine.mro(cls)))

    def _is_plain_class(self, cls: Value) -> bool:
        """Does it have what its body says, and nothing else?"""
        if not isinstance(cls, ClassV):
            return cls in _OF_PYTHON
        asked = any(self.machine.class_member(cls, name) for name in ("__getattr__", "__getattribute__"))
        return not (asked or cls.node.decorators or cls.node.keywords or cls in self.given_classes)

    def of_every_module(self, name: str) -> bool:
        """Is it an attribute or a method that every ``nn.Module`` has by itself?"""
        return name in _MODULE_NAMES or name in METHODS

    def has_only_own_methods(self, obj: Obj) -> bool:
        """Is its class, with all its bases, code of the project that has nothing to do with torch?"""
        cls = self.machine.class_of(obj)
        bases = self.machine.mro(cls) if cls is not None else []
        return bool(bases) and all(isinstance(base, ClassV) or base in _OF_PYTHON for base in bases)

    def is_pretrained(self, obj: Obj) -> bool:
        """Is its class derived from one of Hugging Face's models?"""
        cls = self.machine.class_of(obj)
        bases = self.machine.mro(cls) if cls is not None else []
        return any(isinstance(base, Ext) and is_model_base(base.qname) for base in bases)

    def is_sharded_formula(self, obj: Obj) -> Any:
        """``isinstance(m, FSDPModule)``: decided where the trace decides it, else what the sharding depends on."""
        related = 0
        perhaps = False
        paths: list[PathCondition] = []
        whole = self.address(obj)[0]
        for step in self.machine.trace.of(events.Sharded):
            found = [self.relation(part, obj) for part in step.what.group if self.address(part)[0] is whole]
            if Relation.SAME in found and self.machine.guard.implies(step.guard):
                return True
            if Relation.SAME in found:
                paths.append(step.guard)
            perhaps = perhaps or Relation.MAY in found
            related += any(relation is not Relation.NONE for relation in found)
        built = obj.parent is None and obj.atom.kind in ("instance", "external")
        own = isinstance(obj.atom.cls, Ext) and obj.atom.cls.qname.startswith("torch.")
        if built and not perhaps and (paths or own or obj.atom.kind == "instance"):
            known = either([self.machine.guard.beyond(path) for path in paths])
            if not is_large(known):
                return known
        return ("truth", ("sharded", obj, related))

    def isinstance_formula(self, obj: Obj, classes: list[Value]) -> Any:
        """Decided where its class, or how it was made, says so; else a question about this object."""
        names = [cls.qname for cls in classes if isinstance(cls, Ext)]
        if "torch.distributed.fsdp.FSDPModule" in names:
            return self.is_sharded_formula(obj)
        if obj.parent is None and obj.atom.module and len(names) == len(classes) and set(names) <= _CONTAINERS:
            return False  # no module is one of Python's containers
        cls = self.machine.class_of(obj)
        if cls is not None and not str(obj.item).startswith(BELOW):
            order = self.machine.mro(cls)
            if any(wanted in order for wanted in classes):
                return True
            if "torch.nn.Module" in names and self.machine.is_module_class(cls):
                return True
            constructed = obj.parent is None and obj.atom.cls is cls  # a declared class may be a subclass
            if constructed and names and all(name in _WRAPPERS for name in names) and len(names) == len(classes):
                return False  # what these wrap is in a field of theirs; nobody derives from them
            if constructed and self.machine.closed_class(cls) and all(map(_is_class, classes)):
                return False
        own = obj.atom.cls
        if obj.parent is None and isinstance(own, Ext) and obj.atom.module:
            if own in classes or "torch.nn.Module" in names:
                return True
            if _of_torch(own) and all(isinstance(wanted, ClassV) or _of_torch(wanted) for wanted in classes):
                return False
        asked = ("isinst", obj, tuple(sorted(classes, key=str)))
        if self.machine.loops and not all(map(_is_class, classes)):
            return ("truth", (LARGE, *asked))  # a filter by unknown classes: which modules pass is open
        return ("truth", asked)

    def never_none(self, obj: Obj) -> bool:
        """A tensor that a function of torch has made, or a number, and what their methods and operators make of it."""
        package, _, name = obj.atom.origin.rpartition(".")
        made = obj.atom.number or package == "torch" and name in _MADE
        return made and all(map(_makes_something, obj.path))

    def type_is_named(self, obj: Obj, name: object) -> Formula | None:
        return attempts.type_is_named(obj, name)


def _makes_something(item: Any) -> bool:
    if is_call(item):
        return item[1] in MAKING or item[1] in TENSOR_METHODS or item[1] == "item"
    return is_multiple(item) or is_each(item) or item in (SOME, SLICE)


def _of_torch(cls: Value) -> bool:
    """Is it a layer of torch, or a wrapper of models? None of these is derived from another one."""
    return isinstance(cls, Ext) and (is_layer(cls.qname) or cls.qname in _WRAPPERS)


def _is_class(value: Value) -> bool:
    """Not what another package may keep classes in, such as ``settings.wrapped``."""
    if isinstance(value, Ext):
        return is_known_class(value.qname) or value.qname.startswith(("builtins.", "numpy."))
    return isinstance(value, ClassV)


def hasattr_of_module(name: str, obj: Obj) -> bool:
    """Names that every ``nn.Module`` has."""
    return obj.atom.module is not False and name in _MODULE_NAMES
