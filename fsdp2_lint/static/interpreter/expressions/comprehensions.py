"""Comprehensions: one round for each element that the source of their loops is known to have."""

from __future__ import annotations

from typing import Any

from astroid import nodes

from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import Entries, Items
from ...domain.values import AbstractObject, ListV, Params, TupleV, Value
from ..machine import L
from ..statements.loops import rounds_of, stands_for_rounds
from . import orders, owning
from .containers import Containers


class Comprehensions(Containers[L]):
    def eval_ListComp(self, node: nodes.ListComp) -> Value:
        return self.comprehension(node, lazy=False)

    def eval_SetComp(self, node: nodes.SetComp) -> Value:
        return orders.made_set(self, self.comprehension(node, lazy=False))

    def eval_GeneratorExp(self, node: nodes.GeneratorExp) -> Value:
        return self.comprehension(node, lazy=True)

    def eval_DictComp(self, node: nodes.DictComp) -> Value:
        """A dict of the pairs of each round, under the path on which that round is reached; open where a source is."""
        made, start = self.new_dict(), self.guard

        def body() -> None:
            born = AbstractObject.made
            key, value = self.eval(node.key), self.eval(node.value)
            self.made_often(value, born)
            held, path = self.entries(made), self.relative(self.guard, start)
            self.store.put(made.id, Entries((*held.entries, (key, path, value)), held.open_why))

        sources: list[Value] = []
        why = self.generate(node.generators, body, sources)
        if why:
            self.leave_open(made, why)
        return orders.made_of(self, made, *sources)

    def comprehension(self, node: Any, *, lazy: bool) -> ListV:
        """A list of what the element is in each round; open where a source is."""
        items: list[tuple[Any, Value]] = []
        start = self.guard

        def body() -> None:
            born = AbstractObject.made
            value = self.eval(node.elt)
            self.made_often(value, born)
            items.append((self.relative(self.guard, start), value))

        sources: list[Value] = []
        why = self.generate(node.generators, body, sources)
        made = orders.made_of(self, ListV(self.fresh(), lazy), *sources)
        if isinstance(sources[0], Params):
            self.of_parameters[made] = sources[0]
        owning.as_many_as(self, made, sources)
        exact = not why and self.one_by_one(node.generators, sources, items)
        self.store.put(made.id, Items(tuple(items), exact, why))
        if lazy:
            self.libraries.generator_made(made, node)
        return made

    def one_by_one(
        self, generators: list[nodes.Comprehension], sources: list[Value], made: list[tuple[PathCondition, Value]]
    ) -> bool:
        """Was one element made of each that is known, in order, as in ``a, b = (int(s) for s in ("1", "2"))``?"""
        if len(generators) > 1 or generators[0].ifs or not isinstance(sources[0], (ListV, TupleV)):
            return False
        held = self.listing(sources[0])
        alone = len(made) == len(held.items) and all(path is TRUE for path, _ in (*held.items, *made))
        return alone and held.exact

    def generate(self, generators: list[nodes.Comprehension], body: Any, sources: list[Value]) -> str:
        """Run ``body`` for each element that the generators yield of their ``sources``; why the listing is open.

        Its targets are names of its own: what is outside keeps what it is bound to.
        """
        scope = self.frame.id if self.frame.func is not None else self.frame.module
        names = [part.name for each in generators for part in each.target.nodes_of_class(nodes.AssignName)]
        outside = {name: self.store.get((scope, name)) for name in names}
        try:
            return self.generate_all(generators, body, sources)
        finally:
            for name, value in outside.items():
                if value is not None:
                    self.store.put((scope, name), value, local=self.frame.func is not None)

    def generate_all(self, generators: list[nodes.Comprehension], body: Any, sources: list[Value]) -> str:
        """All rounds of the loops of a comprehension, each on the path of its conditions."""
        if not generators:
            body()
            return ""
        first, rest = generators[0], generators[1:]
        source = self.eval(first.iter)
        sources.append(source)
        why = ""
        start = self.guard
        for guard, element in self.elements(source, first.iter):
            path = start.join(guard)
            if path is None:
                continue
            self.guard = path
            self.assign(first.target, element)
            rounds = rounds_of(element) if not first.ifs and not rest else None
            for test in first.ifs:
                narrowed = self.guard.add(self.condition(test))
                if narrowed is None:
                    break
                self.guard = narrowed
            else:
                with self.repeated(rounds, many=stands_for_rounds(element)):
                    why = self.generate_all(rest, body, sources) or why
            self.guard = start
        return why
