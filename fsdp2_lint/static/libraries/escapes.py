"""Code that is not seen: what it may have changed, and the functions that it was handed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from astroid import nodes

from ..budget import BUDGET
from ..domain import events
from ..domain.path_conditions import TRUE
from ..domain.store import Entries, Items
from ..domain.values import NONE, PICK, SOME, AbstractObject, Bound, ClassV, Ext, Func, Obj, Partial, Value
from ..frontend.packages import builds_models, is_harmless
from ..interpreter.call import Call
from ..interpreter.frames import Diverges
from .membership import Membership
from .outputs import is_output
from .tables import METHODS
from .torch.launch.device import Device
from .torch.ranks import agreement, groups, rank
from .torch.training import generators

Names = frozenset[str]
MAX_REACH = BUDGET.reach
_UNPICKLED = frozenset({"pickle.load", "pickle.loads"})  # it may be any code
_FIELDS_OF_OPTIMIZERS = frozenset({"param_groups", "state", "defaults"})


# What Python says of classes and functions in words: whoever has such a text has nothing of what it is about.
_TEXTS = frozenset({"__name__", "__qualname__", "__module__", "__doc__"})


class Escapes(Membership):
    def harmless(self, qname: str) -> bool:
        return is_harmless(qname)

    def havoc(self, who: str, call: Call, receiver: Value | None = None, names: Names | None = None) -> None:
        """Something ran that was not understood: it may have changed what it was given.

        ``names``: all that it mentions, where that is known; it leaves fields of other names alone.
        """
        self.machine.stops += 1
        for value in call.all:
            if isinstance(value, Obj):
                self.handed.setdefault(value, who)
        self.not_followed(who, call)
        self.overlooked(who, call.node)
        groups.given(self.machine, who, call)
        agreement.filled(self.machine, call, who)
        generators.handed(self.machine, who, call)
        self.escape(call, who, receiver, names)
        self.machine.open_data([*call.all, *([receiver] if receiver is not None else [])], f"{who} may change", names)

    def overlooked(self, who: str, node: nodes.NodeNG) -> None:
        """Code that was not followed, where it stands for some ranks only: it may do what the others do there."""
        if self.machine.rank_sites and self.machine.guard not in self.ranked:
            self.ranked[self.machine.guard] = bool(self.machine.asked())
        if self.ranked.get(self.machine.guard):
            self.machine.emit(events.Unseen(who=who), node)

    def keep(self, who: str, value: Value, node: nodes.NodeNG) -> None:
        """Code that is not seen keeps a value: it may change it now, and whenever such code runs again."""
        self.kept.append(value)
        self.havoc(who, Call(node, [value]))

    def not_known(self, who: str, call: Call, receiver: Value | None = None) -> Obj:
        """A call of which nothing is known: it may run and change all that it was given, and return anything."""
        handed = self.handed_over(call)
        self.havoc(who, handed, receiver)
        made = AbstractObject("opaque", origin=who, site=self.machine.site(call.node))
        made.keeps = tuple(handed.all)
        return made.root

    def of_optimizer(self, obj: Obj) -> bool:
        """Is it an optimizer's list of groups, one of them, or the parameters in it; not a number such as its lr?"""
        owner = next((at for at in obj.above if at in self.optimizers), None)
        items = obj.path[len(owner.path) :] if owner is not None else ()
        return bool(items) and all(_leads_to_parameters(item) for item in items)

    def handed_over(self, call: Call, *, spawned: bool = False) -> Call:
        """A call as unseen code has it: functions among its arguments run, and what they return is in its hands.

        What a lambda that wants arguments would do with them is not known: then it is what it can reach.
        """
        policies = [leaf for value in call.all for leaf in self.machine.inside(value) if self.is_wrapper_argument(leaf)]
        more = [*self.callbacks(call, spawned=spawned), *self.machine.behind(policies)]
        return Call(call.node, [*call.args, *more], call.kwargs, call.open_why)

    def not_followed(self, who: str, call: Call) -> None:
        self.opaque.setdefault(who, call.node)
        self.unfollowed[who, call.node] = None

    def escape(
        self, call: Call, who: str, receiver: Value | None = None, names: Names | None = None
    ) -> tuple[Obj, ...]:
        handed = [*call.all, *([receiver] if receiver is not None else []), *self.kept]
        escaped = tuple(self.changeable(handed, names))
        if escaped:
            self.machine.emit(events.Escaped(objects=escaped, who=who), call.node, escaped[0])
        return escaped

    def changeable(self, values: Iterable[Value], names: Names | None = None) -> Iterator[Obj]:
        """What code that was handed these values could change: they, and what it reaches by items, fields, and what
        a partial or unseen code was given. The nearest first, so that nothing counts as too far that is not."""
        seen: set[Value | AbstractObject] = set()
        level, depth = list(values), 0
        while level:
            further: list[Value] = []
            for leaf in (leaf for value in level for leaf in self.machine.inside(value)):
                if isinstance(leaf, Bound):
                    leaf = leaf.receiver
                elif isinstance(leaf, Obj) and leaf.parent is not None and self._is_method(leaf):
                    leaf = leaf.parent
                if isinstance(leaf, ClassV):
                    self.given_classes.add(leaf)
                if not isinstance(leaf, (Obj, Partial)) or leaf in seen:
                    continue
                if isinstance(leaf, Obj) and (is_output(leaf) or leaf.item in _TEXTS):
                    continue
                seen.add(leaf)
                if isinstance(leaf, Partial):
                    further += (*leaf.args, *(item for _, item in leaf.kwargs))
                    continue
                if self.can_be_changed(leaf):
                    yield leaf
                if depth == MAX_REACH:
                    continue
                if leaf.atom not in seen:
                    seen.add(leaf.atom)
                    further += leaf.atom.keeps
                if not leaf.atom.module:
                    further += self._fields(leaf, names)
            level, depth = further, depth + 1

    def _is_method(self, obj: Obj) -> bool:
        """Is it a method that was not called, of an optimizer or a module? Whoever has it has its owner."""
        if obj.parent in self.optimizers:
            return isinstance(obj.item, str) and obj.item.isidentifier() and obj.item not in _FIELDS_OF_OPTIMIZERS
        return obj.parent is not None and bool(obj.parent.atom.module) and obj.item in METHODS

    def _fields(self, obj: Obj, names: Names | None) -> Iterator[Value]:
        for name in self.machine.store.fields.get(obj, ()):
            held = self.machine.store.get((obj, name)) if names is None or name in names else None
            if held is not None and not isinstance(held, (Items, Entries)):
                yield held

    def can_be_changed(self, obj: Obj) -> bool:
        atom = obj.atom
        if atom.kind == "configuration" or atom.state(Device) is not None:
            return False
        return bool(
            atom.kind == "instance"
            or atom.module
            or obj in self.optimizers
            or self.in_sharded(obj)
            or self.of_optimizer(obj)
            or atom.kind in ("parameter", "opaque")
            or obj.parent is None
            and builds_models(atom.origin)
        )

    def matters_whole(self, obj: Obj) -> bool:
        """Is it an optimizer, or a module as a whole rather than a number or a tensor of it?"""
        if obj in self.optimizers:
            return True
        return bool(obj.atom.module) and obj.item not in ("weight", "bias")

    def callbacks(self, call: Call, *, spawned: bool = False) -> list[Value]:
        """Functions handed to code that we do not see are taken to be called once; what they return."""
        results = []
        for value in call.all:
            for _, leaf in self.machine.alternatives(value):
                if isinstance(leaf, (Func, Bound, Partial)) and not self.is_wrapper_argument(leaf):
                    results.append(self.callback(leaf, call, spawned))
        return results

    def callback(self, leaf: Value, call: Call, spawned: bool) -> Value:
        handed = call.arg(1, "args") if spawned else None
        rest = [item for _, item in self.machine.listing(handed).items] if handed is not None else []
        arguments = Call(call.node, [rank.LOCAL, *rest] if spawned else [], {})
        if spawned:
            return self.machine.branch([(TRUE, lambda: self.quietly(leaf, arguments))])
        return self.called_back(leaf, arguments)

    def called_back(self, leaf: Value, call: Call) -> Value:
        outer = self.machine.context
        self.machine.context = self.machine.fresh()
        try:
            return self.machine.branch([(TRUE, lambda: self.quietly(leaf, call))])
        finally:
            self.machine.context = outer

    def quietly(self, leaf: Value, call: Call) -> Value:
        """A callback that ends by an exception ends itself, not the code that registered it."""
        try:
            return self.machine.call_one(leaf, call)
        except Diverges:
            return NONE

    def is_wrapper_argument(self, leaf: Value) -> bool:
        """A lambda that wants arguments is a policy or a schedule; one without is there to be run."""
        return (
            isinstance(leaf, Func)
            and isinstance(leaf.node, nodes.Lambda)
            and not isinstance(leaf.node, nodes.FunctionDef)
            and bool(leaf.node.args.args)
        )

    def harmless_object(self, obj: Obj) -> bool:
        atom = obj.atom
        if atom.kind in ("opaque", "parameter") or atom.framework or atom.origin in _UNPICKLED:
            return False
        if (cls := self.machine.class_of(obj)) is not None:
            return all(
                isinstance(base, ClassV) or isinstance(base, Ext) and self.harmless(base.qname)
                for base in self.machine.mro(cls)
            )
        return True


def _leads_to_parameters(item: object) -> bool:
    if not isinstance(item, str):
        return isinstance(item, tuple) and item[0] == PICK
    return item in ("param_groups", "__dict__", "['params']", SOME) or item.startswith("[") and item[1:2] != "'"
