"""Samplers and data sets of the project that deal out by rank: ``items[rank::world]``, wherever in their code.

By which rank, and by which seed the items were put in order before they were dealt out, is read off the syntax: their
methods are called by torch, one round after the other. What their fields hold, the engine knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.values import Const, Obj, Rank, Value
from ...frontend.launchers import WORLD_SIZE
from ...frontend.module import Module
from ...frontend.origins import full_name
from ...interpreter.syntax import class_body
from ...libraries.torch.ranks.data import Loader
from ...libraries.torch.ranks.dealing import field
from ...libraries.torch.ranks.seeds import differs
from ..shared.program import AtStep, Program
from .random_numbers import drawn_apart

_SEEDED = frozenset({"random.Random", "numpy.random.default_rng", "numpy.random.RandomState"})
_BEFORE = (nodes.Assign, nodes.AugAssign, nodes.AnnAssign, nodes.Expr)


@record
class Stride:
    """Every so many of some items, from the number of a rank on."""

    rank: Value
    parts: Value | None  # None: not a field
    items: nodes.NodeNG
    method: nodes.FunctionDef
    module: Module

    def at(self, program: Program) -> Moment:
        return Moment(program.machine.site(self.items, self.module))


def given_to(program: Program, loader: Loader) -> Iterator[Obj]:
    """The objects of the project that say which samples a loader gets."""
    machine = program.machine
    for value in (loader.sampler, loader.batch_sampler, loader.dataset):
        yield from (leaf for leaf in machine.objects(value) if machine.class_of(leaf) is not None)


def strides(program: Program, obj: Obj) -> Iterator[Stride]:
    for module, method in _methods(program, obj):
        for node in method.nodes_of_class(nodes.Subscript):
            if isinstance(node.slice, nodes.Slice) and node.slice.lower is not None and node.slice.step is not None:
                rank, parts = (
                    field(program.machine, obj, method, part) for part in (node.slice.lower, node.slice.step)
                )
                if rank is not None:
                    yield Stride(rank, parts, node.value, method, module)


def by_node(program: Program, obj: Obj) -> Stride | None:
    """One that takes the rank on the node for the rank among all ranks of the job."""
    everyone = program.machine.libraries.settings.get(WORLD_SIZE)
    for each in strides(program, obj):
        if each.rank == Rank("local") and each.parts is not None and each.parts is everyone:
            return each
    return None


class StaticOwnSampler(AtStep[events.Loader]):
    """What deals out the samples of a loader, where it is of the project."""

    def dealing(self) -> Stride | None:
        return next((each for obj in self._given() for each in strides(self.program, obj)), None)

    def seed_differs(self) -> Answer[Place]:
        """Unknown where no seed is found: the items may come in an order of their own anyway."""
        for obj in self._given():
            for each in strides(self.program, obj):
                if not isinstance(each.rank, Rank):
                    continue
                for seed in self._seeds(obj, each):
                    held = [
                        field(self.program.machine, obj, each.method, part)
                        for part in seed.nodes_of_class(nodes.Attribute)
                    ]
                    if any(value is not None and differs(self.program.machine, value) is True for value in held):
                        where = Moment(self.program.machine.site(seed, each.module))
                        return yes(Place(where, "a seed that is computed from the rank"))
        return unknown("by which numbers the ranks shuffle was not followed")

    def _given(self) -> Iterator[Obj]:
        loader = self.step.subject.atom.state(Loader) if self.step.subject is not None else None
        return given_to(self.program, loader) if loader is not None else iter(())

    def _seeds(self, obj: Obj, stride: Stride) -> Iterator[nodes.NodeNG]:
        """What generators are seeded with that the items, as they are dealt out, were put in order by."""
        for part in _made_of(self.program, obj, stride):
            for call in part.nodes_of_class(nodes.Call):
                by_method = isinstance(call.func, nodes.Attribute) and call.func.attrname == "manual_seed"
                if not call.args or not (by_method or full_name(call.func) in _SEEDED):
                    continue
                if any(_surely_runs(self.program, obj, draw) for draw in _draws(call)):
                    yield call.args[0]


class StaticSharedOrder(AtStep[events.OrderShared]):
    """A permutation of which each rank takes its part."""

    def seed_differs(self) -> Answer[Place]:
        """Unknown where the ranks may draw alike: how far the common generator goes on depends on their batches."""
        generator = self.step.what.generator
        if generator and (why := drawn_apart(self.program, generator, self.step)):
            return unknown(why)
        return yes(Place(self.step.what.drawn, "a seed that is computed from the rank"))


def _methods(program: Program, obj: Obj) -> Iterator[tuple[Module, nodes.FunctionDef]]:
    """Those that calls find: of a class, and of its bases what it does not write anew."""
    found = set[str]()
    for base in program.machine.project_classes(obj):
        for name, node in class_body(base.node).items():
            if isinstance(node, nodes.FunctionDef) and name not in found:
                yield base.module, node
            found.add(name)


def _made_of(program: Program, obj: Obj, stride: Stride) -> Iterator[nodes.NodeNG]:
    """The code that makes the items, before they are dealt out: statements of the method, and methods that it calls."""
    methods = {node.name: node for _, node in _methods(program, obj)}
    pending: list[nodes.NodeNG] = [stride.items]
    before = [each for each in stride.method.nodes_of_class(_BEFORE) if each.tolineno <= stride.items.fromlineno]
    seen: set[nodes.NodeNG] = set()
    while pending:
        part = pending.pop()
        if part in seen:
            continue
        seen.add(part)
        yield part
        names = {each.name for each in part.nodes_of_class(nodes.Name)}
        pending += [each for each in before if names & _touched(each)]
        called = {
            each.func.attrname for each in part.nodes_of_class(nodes.Call) if isinstance(each.func, nodes.Attribute)
        }
        pending += [methods[name] for name in called & methods.keys() if methods[name] is not stride.method]


def _draws(seeding: nodes.Call) -> Iterator[nodes.Call]:
    """The calls that use a generator which is seeded here: its own methods, and what it is handed to."""
    used = seeding.parent
    if isinstance(used, nodes.Attribute) and isinstance(used.parent, nodes.Call):
        yield used.parent
        return
    statement = seeding.statement()
    bound = statement.targets if isinstance(statement, nodes.Assign) else [statement]
    names = {each.name for target in bound for each in target.nodes_of_class((nodes.AssignName, nodes.Name))}
    for call in seeding.scope().nodes_of_class(nodes.Call):
        if call.statement() is not statement and names & {each.name for each in call.nodes_of_class(nodes.Name)}:
            yield call


def _surely_runs(program: Program, obj: Obj, call: nodes.Call) -> bool:
    """Is it on the way through its method, with what the fields of the object hold, such as whether it shuffles?"""
    method, inner, at = call.scope(), call, call.parent
    while isinstance(method, nodes.FunctionDef) and at is not method:
        if isinstance(at, (nodes.If, nodes.IfExp)) and inner is not at.test:
            held = field(program.machine, obj, method, at.test)
            taken = inner in at.body if isinstance(at, nodes.If) else inner is at.body
            if not isinstance(held, Const) or bool(held.value) is not taken:
                return False
        elif isinstance(at, (nodes.Try, nodes.ExceptHandler, nodes.While, nodes.BoolOp)):
            return False
        inner, at = at, at.parent
    return isinstance(method, nodes.FunctionDef)


def _touched(statement: nodes.NodeNG) -> set[str]:
    """The names that a statement binds, or calls something with, as in ``rng.shuffle(order)``."""
    if isinstance(statement, nodes.Expr):
        return {each.name for call in statement.nodes_of_class(nodes.Call) for each in call.nodes_of_class(nodes.Name)}
    return {each.name for each in statement.nodes_of_class(nodes.AssignName)}
