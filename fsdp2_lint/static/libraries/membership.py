"""Which module holds which, of what class things are, and what is sharded by now."""

from __future__ import annotations

from astroid import nodes

from ..domain import events
from ..domain.formulas import Formula
from ..domain.path_conditions import TRUE, PathCondition
from ..domain.relations import Address, Relation, address, relation
from ..domain.values import EACH, AbstractObject, ClassV, Ext, Func, Obj, ParamV, Value, is_each, is_one_of
from ..frontend.module import Module
from ..frontend.packages import is_class, is_of_python, is_optimizer
from ..interpreter.call import Call
from ..interpreter.expressions.numbers import is_number
from . import base_initialisers
from .asked import Asked
from .frameworks import framework_of
from .interface import Blank, Machine, Waiting
from .python import attempts, records
from .torch.checkpoints import kept_futures
from .torch.initialisation import blank, slices
from .torch.precision import dtypes
from .torch.ranks import seeds
from .torch.sharding import modules, parameters
from .torch.training import local_parts, optim, schedulers

_ANY_OBJECT = frozenset({"load", "compile"})  # of torch and numpy: what they return may be a model
_OF_TORCH = frozenset(
    f"torch.{name}" for name in "amp.autocast cuda.Event cuda.Stream profiler.record_function".split()
)
_MAKERS = frozenset({"itertools.count", "logging.getLogger", "re.compile", "uuid.uuid4"})  # functions, and not classes


def _has_no_parameters(made_by: str) -> bool:
    """Does this make a plain tensor, an array, or an object of a class of Python's or torch's that is no module?"""
    holder, _, name = made_by.rpartition(".")
    if is_of_python(made_by):
        return is_class(made_by) or made_by in _MAKERS or holder in ("math", "time")
    return holder in ("torch", "numpy", "numpy.random") and name not in _ANY_OBJECT or made_by in _OF_TORCH


_VALUES = frozenset({"", "data", "real", "imag", "_local_tensor"})  # without a name, an item of it


class Membership(Asked):
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.any_sharded = False
        self.sharded_atoms = set()
        self.optimizers = set()
        self.cast_tensors = set()
        self.asked_of_dtensors = []
        self.marked = set()
        self.outputs = {}
        self.inside = []
        self.grad_modes = []
        self.opaque = {}
        self.settings = {}
        self.launched = False
        self.hooks = {}
        self.ranked: dict[PathCondition, bool] = {}  # which paths say something of ranks
        self.kept = []
        self.handed = {}
        self.given_classes = set()
        self.unfollowed = {}
        self.configured = None
        self.others = set()
        self.adopted_at = {}
        self.extended_at = {}
        self.called_atoms: set[AbstractObject] = set()
        self.addresses = {}
        self.answers = {}
        self.addressed_with = 0  # how many modules had a parent when these were found
        self.blank = Blank()
        self.waiting = Waiting()

    def address(self, obj: Obj) -> Address:
        if self.addressed_with != len(self.machine.parents):  # parts are only ever added
            self.addresses.clear()
            self.addressed_with = len(self.machine.parents)
        found = self.addresses.get(obj)
        if found is None:
            found = self.addresses[obj] = address(obj, self.machine.parents, self.answers)
        return found

    def relation(self, mine: Obj, other: Obj) -> Relation:
        return relation(self.address(mine), self.address(other))

    def adopt(self, holder: Obj, name: str, value: Value) -> None:
        for _, leaf in self.machine.alternatives(value):
            if not isinstance(leaf, Obj):
                continue
            if self._is_one_of(holder, leaf):
                continue  # put back in its place, around it what keeps nothing of its own
            if leaf not in self.machine.parents and leaf is not holder and self.could_be_module(leaf):
                if self.address(holder)[0] is not leaf.atom or leaf.parent is not None and holder not in leaf.above:
                    taken = (
                        sum(1 for parent, item in self.machine.parents.values() if parent is holder and is_each(item))
                        if name == EACH
                        else 0
                    )
                    self.adopted_at[leaf] = self.machine.now
                    self.machine.parents[leaf] = (holder, f"[*{taken + 1}]" if taken else name)

    def _is_one_of(self, holder: Obj, leaf: Obj) -> bool:
        """Is it one of the elements that stand in ``holder`` by now?"""
        where = self.machine.parents.get(leaf.parent) if leaf.parent is not None else None
        return where is not None and where[0] is holder and is_each(where[1]) and is_one_of(leaf, leaf.parent)

    def could_be_module(self, obj: Obj) -> bool:
        if obj.atom.kind in ("instance", "external"):
            return bool(obj.atom.module or obj.atom.parameter is not None or obj.parent is not None)
        if obj.parent is None and obj.atom.kind == "unknown" and _has_no_parameters(obj.atom.origin):
            return False
        return obj.atom.kind in ("unknown", "opaque", "parameter") and not is_number(obj)

    def plain_field(self, obj: Obj) -> bool:
        """A setting that a module keeps (``self.config = config``), not a part of it: nothing calls it."""
        return obj.atom not in self.called_atoms and obj.atom.kind != "opaque"

    def attached(self, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None:
        """An attribute is set: modules adopt their parts, and late parts are recorded."""
        blank.overwritten(self.machine, owner.child(name), node, value)
        slices.data_set(self.machine, owner, name, node)
        if any(leaf.atom.module for leaf in self.machine.objects(value)):
            self.extended_at[owner] = self.machine.now
        if owner.atom.module:
            self.adopt(owner, name, value)
            parameters.marked_before(self.machine, owner, value, node)
        if name == "param_groups":
            optim.regrouped(self.machine, owner, node)
        optim.supplanted(self.machine, self.machine.store.get((owner, name)), value, node)
        kept_futures.kept(self.machine, owner, name, value, node)
        if name == "weight":
            parameters.tied(self.machine, owner, value, node)
        self.came_late(owner, name, value, node)

    def came_late(self, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None:
        """Something becomes a part of a module: is that one sharded already?"""
        if self.any_sharded and self.in_sharded(owner):
            for _, leaf in self.machine.alternatives(value):
                if isinstance(leaf, Obj) and self.adopted_at.get(leaf, self.machine.now) < self.machine.now:
                    continue  # it is a part of some module already, and is only put back
                if isinstance(leaf, Obj) and leaf.parent is None and (leaf.atom.module or leaf.atom.parameter):
                    self.machine.emit(events.Attached(name=name, value=leaf), node, owner)

    def parameter_marked(self, leaf: Value, name: str, node: nodes.NodeNG) -> None:
        parameters.attribute_set(self.machine, leaf, name, node)

    def parameter_asked(self, leaf: Value, name: str, node: nodes.NodeNG) -> None:
        parameters.attribute_read(self.machine, leaf, name, node)

    def own_tensor(self, owner: Obj, name: str) -> bool:
        """Is this a parameter that a layer has anyway? Which tensor it is makes no difference to anybody."""
        return name in ("weight", "bias") and (owner.parent is not None or owner.atom.kind != "instance")

    def in_sharded(self, obj: Obj) -> bool:
        """Is something of the same outermost object sharded by now?"""
        return self.belongs(obj, self.sharded_atoms)

    def belongs(self, obj: Obj, atoms: set[AbstractObject]) -> bool:
        """Is it one of these, or a part of one?"""
        at: Obj | None = obj
        seen: set[Obj] = set()
        while at is not None and at not in seen:
            if at.atom in atoms:
                return True
            seen.add(at)
            adopted = self.machine.parents.get(at) or self.machine.parents.get(at.atom.root)
            at = adopted[0] if adopted is not None else None
        return False

    def constructed(self, obj: Obj, cls: ClassV, call: Call) -> None:
        """An object of a class of the project is built: what that means where the class is derived from others'."""
        records.validated(self.machine, obj, cls, call)
        if self.machine.class_member(cls, "__init__") is None:
            base_initialisers.run(self.machine, obj, cls, call)
        if obj.atom.module:
            blank.made(self.machine, obj, call.node)
            seeds.built(self.machine, obj)
        dtypes.built(self.machine, obj, call.node)
        frameworks = (framework_of(base.qname) for base in self.machine.mro(cls) if isinstance(base, Ext))
        if who := next(filter(None, frameworks), ""):
            self.machine.emit(events.Managed(who=who), call.node, obj)

    def annotated_external(self, obj: Obj, module: Module, annotation: nodes.NodeNG) -> None:
        """A parameter that is annotated as an optimizer was built by a caller that is not seen."""
        if isinstance(annotation, (nodes.Name, nodes.Attribute)):
            value = self.machine.in_module(module, lambda: self.machine.eval(annotation))
            if isinstance(value, Ext) and (
                value.qname == "torch.optim.optimizer.Optimizer" or is_optimizer(value.qname)
            ):
                obj.atom.given_optimizer = True

    def updates_itself(self, obj: Obj) -> bool:
        """Is it an optimizer of the project, and not a wrapper of one? Its step sets values, and exchanges nothing."""
        held = [self.machine.store.get((obj, name)) for name in self.machine.store.fields.get(obj, ())]
        return obj in self.optimizers and not any(
            leaf in self.optimizers for value in held if value is not None for leaf in self.machine.inside(value)
        )

    def given(self, func: Func, bound: dict[str, Value]) -> None:
        """A function takes a model and a finished optimizer: that holds what the model has by then."""
        handed = [
            value
            for value in bound.values()
            if isinstance(value, Obj) and value.parent is None and value.atom.kind == "parameter"
        ]
        for obj in handed:
            if obj.atom.given_optimizer and obj not in self.optimizers:
                self.optimizers.add(obj)
                held = tuple(events.Held(other, self.machine.now, TRUE) for other in handed if other is not obj)
                self.machine.emit(events.Optimizer(held=held, complete=True, proven=True, given=True), func.node, obj)

    def multiplied(self, leaf: ParamV, by: Value, node: nodes.NodeNG) -> None:
        local_parts.scaled(self.machine, leaf, by, node)

    def overwritten(self, leaf: ParamV, node: nodes.NodeNG, name: str = "") -> None:
        """Another tensor takes the place of a parameter (of its ``data``), or of a part of it; another attribute is a
        mark, and leaves its values."""
        slices.data_set(self.machine, leaf, name, node)
        if name in _VALUES:
            blank.written(self.machine, node, [leaf], buffers=False)
        if name == "data":
            for model in self.machine.objects(leaf.model):
                dtypes.mapped(self.machine, model, node)

    def known_in_handler(self, handler: nodes.ExceptHandler, asked: list[Value]) -> Formula:
        return attempts.in_handler(handler, asked)

    def augmented(self, node: nodes.AugAssign) -> None:
        slices.augmented(self.machine, node)
        schedulers.augmented(self.machine, node)

    def frozen(self, leaf: ParamV, switch: Value, node: nodes.NodeNG) -> None:
        for model in self.machine.objects(leaf.model):
            modules.freeze(self.machine, model, switch, node)
