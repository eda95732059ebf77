"""Deep copies of modules: a second tree of the same classes, to which all has happened that happened to the first."""

from __future__ import annotations

from dataclasses import fields, replace

from astroid import nodes

from ..domain import events
from ..domain.events import AnyStep
from ..domain.values import AbstractObject, Bound, DictV, GuardedUnion, ListV, Obj, Partial, TupleV, Value
from .interface import Machine

# What happened to a module holds of its copy as well,
_CARRIED = (
    events.Cast, events.Evaluated, events.Frozen, events.Loaded, events.Moved, events.Thawed, events.Tied,
)  # fmt: skip
# and this says nothing of it afterwards.
_PASSING = (
    events.Called, events.Consumed, events.Copied, events.Generator, events.ParamAsked, events.WeightUsed,
)  # fmt: skip


def copied_module(machine: Machine, module: Obj, node: nodes.NodeNG) -> Obj | None:
    """A deep copy of a module that the program built; None where something happened to it that cannot be copied."""
    if module.parent is not None or module.atom.kind not in ("instance", "external") or not module.atom.module:
        return None
    atoms = _tree(machine, module)
    happened = [step for step in machine.trace.steps if step.subject is not None and step.subject.atom in atoms]
    if any(not isinstance(step.what, (*_CARRIED, *_PASSING)) for step in happened):
        return None
    if any(handed.atom in atoms for handed in machine.libraries.handed):
        return None
    copy = _Copy(machine, {atom: _twin(atom, machine, node if atom is module.atom else None) for atom in atoms})
    copy.state()
    for step in happened:
        if isinstance(step.what, _CARRIED):
            copy.happens(step, node)
    return copy.object(module)


def _tree(machine: Machine, module: Obj) -> dict[AbstractObject, None]:
    """The objects that a module is made of."""
    owners: dict[AbstractObject, list[Obj]] = {}
    for owner in machine.store.fields:
        owners.setdefault(owner.atom, []).append(owner)
    parts: dict[AbstractObject, list[Value]] = {}
    for child, (holder, _) in machine.parents.items():
        parts.setdefault(holder.atom, []).append(child)
    found, pending = {module.atom: None}, [module.atom]
    while pending:
        at = pending.pop()
        held = [
            machine.store.get((owner, name)) for owner in owners.get(at, ()) for name in machine.store.fields[owner]
        ]
        below = [leaf for value in held if value is not None for leaf in machine.inside(value)]
        for leaf in (*below, *parts.get(at, ())):
            if isinstance(leaf, Obj) and leaf.atom not in found and machine.libraries.could_be_module(leaf):
                found[leaf.atom] = None
                pending.append(leaf.atom)
    return found


def _twin(atom: AbstractObject, machine: Machine, node: nodes.NodeNG | None) -> AbstractObject:
    site = machine.site(node) if node is not None else atom.site
    made = AbstractObject(atom.kind, cls=atom.cls, origin=atom.origin, site=site, many=atom.many)
    made.note_as_of(atom)
    return made


class _Copy:
    def __init__(self, machine: Machine, twins: dict[AbstractObject, AbstractObject]) -> None:
        self.machine, self.twins = machine, twins
        self.containers: dict[int, ListV | DictV] = {}

    def object(self, obj: Obj) -> Obj:
        if obj.atom not in self.twins:
            return obj
        found = self.twins[obj.atom].root
        for item in obj.path:
            found = found.child(item)
        return found

    def value(self, value: Value) -> Value:
        if isinstance(value, Obj):
            return self.object(value)
        if isinstance(value, TupleV):
            return TupleV(tuple(map(self.value, value.items)))
        if isinstance(value, GuardedUnion):
            return type(value)(tuple((path, self.value(leaf)) for path, leaf in value.options))
        if isinstance(value, Bound):
            return replace(value, receiver=self.value(value.receiver))
        if isinstance(value, Partial):
            return replace(value, args=tuple(map(self.value, value.args)))
        return self.container(value) if isinstance(value, (ListV, DictV)) else value

    def container(self, value: ListV | DictV) -> ListV | DictV:
        """A list that two attributes share is one list in the copy, too."""
        if value.id not in self.containers:
            made = self.containers[value.id] = replace(value, id=self.machine.fresh())
            if isinstance(value, ListV):
                held = self.machine.items(value)
                rows = tuple((path, self.value(item)) for path, item in held.items)
                self.machine.store.put(made.id, replace(held, items=rows))
            else:
                filled = self.machine.entries(value)
                entries = tuple((key, path, self.value(item)) for key, path, item in filled.entries)
                self.machine.store.put(made.id, replace(filled, entries=entries))
        return self.containers[value.id]

    def state(self) -> None:
        """Attributes, what is a part of what, and of which class."""
        machine = self.machine
        for owner, names in list(machine.store.fields.items()):
            for name in list(names) if owner.atom in self.twins else ():
                if (held := machine.store.get((owner, name))) is not None:
                    machine.store.put((self.object(owner), name), self.value(held))
        for child, (holder, name) in list(machine.parents.items()):
            if child.atom in self.twins and holder.atom in self.twins:
                machine.parents[self.object(child)] = (self.object(holder), name)
                machine.libraries.adopted_at[self.object(child)] = machine.now
        for obj, cls in list(machine.types.items()):
            if obj.atom in self.twins:
                machine.types[self.object(obj)] = cls

    def happens(self, step: AnyStep, node: nodes.NodeNG) -> None:
        """The same once more, to the copy and on the same path."""
        path = self.machine.guard.join(step.guard)
        if path is None or step.subject is None:
            return
        others = {each.name: getattr(step.what, each.name) for each in fields(step.what)}
        moved = {name: self.object(held) for name, held in others.items() if isinstance(held, Obj)}
        with self.machine.on_path(path):
            self.machine.emit(replace(step.what, **moved), node, self.object(step.subject))
