"""Names: locals, closures, globals of files (resolved lazily), imports, built-ins."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable
from functools import partial

from astroid import nodes

from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import NONE, ClassV, Const, DictV, Ext, Func, GuardedUnion, ListV, ModRef, Obj, Value, unknown
from ...frontend.module import Module
from ...frontend.torch_api import canonical, history_of_export, is_torch, may_export
from ..calls import class_tables
from ..frames import Diverges, Frame
from ..machine import L
from ..semantics import R
from ..statements.loops import Loops
from ..syntax import class_body
from . import asked_names
from .registries import mentions, registrations, rewritten


class Names(Loops[L]):
    def lookup(self, name: str) -> Value:
        frame = self.frame
        if frame.func is not None or frame.id in self.closures:
            at = frame.id
            while at:
                found: Value | None = self.store.get((at, name))
                if found is not None:
                    return found
                at = self.closures.get(at, 0)
        return self.global_name(frame.module, name)

    def global_name(self, module: Module, name: str) -> Value:
        found: Value | None = self.store.get((module, name))
        if found is None:
            found = self.module_globals.get((module, name))
        if found is None:
            found = self.resolve_global(module, name)
            if (module, name) not in self.resolving:
                self.module_globals[module, name] = found
        return found

    def runs_as_script(self, module: Module) -> bool:
        """Is it the file that the program begins with, statement by statement? Nobody imports its names."""
        return bool(self.store.get((module, "__name__")) == Const("__main__"))

    def resolve_global(self, module: Module, name: str) -> Value:
        """The last binding of a name at the top of its file, or what a star brings, or a built-in."""
        if name in ("__name__", "__package__"):
            dotted = self.project.dotted(module.path)
            return Const(dotted if name == "__name__" or module.is_package else dotted.rpartition(".")[0])
        if name == "__file__":
            return Const(module.path)
        statements = module.bindings.get(name)
        if not statements:
            return self.star_or_builtin(module, name)
        if (module, name) in self.resolving:
            made = self.made_where_defined(module, name)
            return made if made is not None else unknown(f"{name}, defined in terms of itself")
        self.resolving.add((module, name))
        self.store.lasting += 1
        try:
            found = [
                value
                for node in _if_imports_work(statements)
                if (value := self.binding(module, node, name)) is not None
            ]
            for value in found:
                if isinstance(value, (DictV, ListV)):
                    self.module_globals[module, name] = value
                    self.fill_registry(module, name)
                elif isinstance(value, Obj) and isinstance(value.atom.cls, ClassV):
                    self.module_globals[module, name] = value
                    class_tables.run_decorators(self, module, name)
        finally:
            self.store.lasting -= 1
            self.resolving.discard((module, name))
        if any(isinstance(value, Const) for value in found) and name in rewritten(module):
            return unknown(name, kind="configuration")  # a function sets it; nobody knows whether it has run
        useful = [value for value in found if value != NONE] or found
        distinct = list(dict.fromkeys(useful))
        if not distinct:
            return unknown(name, kind="opaque")
        if len(distinct) == 1 or not all(isinstance(value, (Ext, Func, ClassV, ModRef)) for value in distinct):
            return distinct[-1]
        number = self.fresh()
        return GuardedUnion(
            tuple((TRUE.add(("is", ("alt", number), arm)) or TRUE, value) for arm, value in enumerate(distinct))
        )

    def made_where_defined(self, module: Module, name: str) -> Value | None:
        """What a file imports under a name that is just looked up, if it is there by now: a decorator of the same file
        asks for the table that it fills."""
        seen: set[tuple[Module, str]] = set()
        at = (module, name)
        while at not in self.module_globals:
            seen.add(at)
            node = at[0].bindings[at[1]][-1]
            if not isinstance(node, nodes.ImportFrom):
                return None
            full = next(full for full, alias in node.names if (alias or full) == at[1])
            path = self.project.resolve(at[0].path, node.modname or "", node.level or 0)
            other = self.project.module(path) if path else None
            if other is None or (other, full) in seen or full not in other.bindings:
                return None
            at = (other, full)
        return self.module_globals[at]

    def binding(self, module: Module, node: nodes.NodeNG, name: str) -> Value | None:
        """What one top-level statement binds the name to, as if that statement alone ran."""
        if isinstance(node, nodes.ClassDef):
            return ClassV(module, node)
        if isinstance(node, nodes.Import):
            for full, alias in node.names:
                if (alias or full.split(".")[0]) == name:
                    return self.import_module(module, full, bool(alias))
        if isinstance(node, nodes.ImportFrom):
            for full, alias in node.names:
                if (alias or full) == name:
                    return self.import_name(module, node, full)
        return self.in_module(module, lambda: self.evaluate_binding(module, node, name))

    def evaluate_binding(self, module: Module, node: nodes.NodeNG, name: str) -> Value | None:
        """What a binding at the top of a file gives a name; None where it is no value."""
        if isinstance(node, nodes.FunctionDef):
            return self.defined(module, node)
        if isinstance(node, (nodes.Assign, nodes.AnnAssign)) and node.value is not None:
            kept = {
                key: value for key, value in self.store.state.items() if isinstance(key, tuple) and key[0] is module
            }
            self.exec(node)
            found = self.store.get((module, name))
            for key in [
                key for key in self.store.state if isinstance(key, tuple) and key[0] is module and key not in kept
            ]:
                del self.store.state[key]  # objects that it built stay, its names do not
            self.store.state.update(kept)
            return found if found is not None else unknown(name)
        return None

    def defined(self, module: Module, node: nodes.FunctionDef) -> Value:
        """What a ``def`` at the top of a file binds. Its decorators run once, though they may be met while they run."""
        if node not in self.definitions:
            try:
                made = self.decorated(node, Func(module, node))
            except Diverges:
                if node not in self.definitions:
                    raise
            else:
                self.definitions[node] = made
        return self.definitions[node]

    def fill_registry(self, module: Module, name: str) -> None:
        """A list or dict of a module that decorators and calls fill while files are imported."""
        writers = {name}
        for bound, statements in module.bindings.items():
            if any(isinstance(node, nodes.FunctionDef) and mentions(node, {name}) for node in statements):
                writers.add(bound)
            for node in statements:
                if (
                    isinstance(node, nodes.ClassDef)
                    and class_tables.HOOK in class_body(node)
                    and mentions(node, {name})
                ):
                    class_tables.fill(self, ClassV(module, node))
        for other in self.importing(module, writers):
            for node in registrations(other.tree.body, writers):
                self.in_module(other, partial(self.register, other, node))

    def importing(self, module: Module, names: Iterable[str]) -> list[Module]:
        """A file, and those that import it and mention one of these names while they are imported."""
        return self._with(module, self.project.importers_naming(module.path, names))

    def deriving(self, module: Module) -> list[Module]:
        """A file, and those that import it and define classes that have bases."""
        return self._with(module, self.project.importers_deriving(module.path))

    def _with(self, module: Module, paths: Iterable[str]) -> list[Module]:
        others = [self.project.module(path) for path in paths]
        return [module, *(other for other in others if other is not None)]

    def register(self, module: Module, node: nodes.NodeNG) -> Value:
        if isinstance(node, nodes.ClassDef):
            self.decorated(node, ClassV(module, node))
        elif isinstance(node, nodes.FunctionDef):
            self.defined(module, node)
        else:
            self.exec(node)
        return NONE

    def in_module(
        self, module: Module, thunk: Callable[[], R], path: PathCondition = TRUE, *, closure: int = 0
    ) -> R | None:
        """Evaluate something at another file's top level, or in a function there, on no path in particular."""
        guard, calls = self.guard, self.calls
        self.guard, self.calls = path, []
        self.frames.append(Frame(self.fresh(), module, None, TRUE))
        if closure:
            self.closures[self.frame.id] = closure
        try:
            return thunk()
        except Diverges:
            return None
        finally:
            self.frames.pop()
            self.guard, self.calls = guard, calls

    def annotation(self, module: Module, node: nodes.NodeNG) -> Value | None:
        """What an annotation names; asked once of each, since it is written once and met at every call."""
        if node in self.annotations:
            return self.annotations[node]
        found = self.in_module(module, lambda: self.eval(node))
        if not self.resolving:  # else it may be defined in terms of what is just looked up
            self.annotations[node] = found
        return found

    def star_or_builtin(self, module: Module, name: str) -> Value:
        """A name that no statement of the file binds."""
        for star in module.stars:
            target = self.project.resolve(module.path, star.modname or "", star.level or 0)
            other = self.project.module(target) if target else None
            if other is not None and other is not module:
                if name in other.bindings or other.stars:
                    key = (other, "*" + name)
                    if key in self.resolving:
                        continue
                    self.resolving.add(key)
                    try:
                        found = self.global_name(other, name)
                    finally:
                        self.resolving.discard(key)
                    if not (isinstance(found, Ext) and found.qname.startswith("builtins.")) and not self.is_unknown(
                        found
                    ):
                        return found
        if not hasattr(builtins, name) and (brought := self.brought_by_torch(module, name)) is not None:
            return brought
        if hasattr(builtins, name):
            return {"True": Const(True), "False": Const(False), "None": NONE}.get(name, Ext(f"builtins.{name}"))
        return unknown(name, kind="opaque")

    def brought_by_torch(self, module: Module, name: str) -> Ext | None:
        """What a star brings from torch: by the last that is known to have the name, else by the last that may."""
        stars = [star.modname for star in module.stars if star.modname and is_torch(star.modname)]
        from_torch = [star for star in stars if self.project.resolve(module.path, star) is None]
        from_torch = [star for star in from_torch if may_export(star, name)] or from_torch
        known = [star for star in from_torch if history_of_export(star, name) is not None]
        return Ext(canonical(f"{(known or from_torch)[-1]}.{name}")) if from_torch else None

    def import_module(self, importer: Module, name: str, aliased: bool) -> Value:
        """``import a.b.c``: binds ``a``, or ``a.b.c`` itself with ``as``."""
        wanted = name if aliased else name.split(".")[0]
        path = self.project.resolve(importer.path, wanted)
        if path:
            module = self.project.module(path)
            return ModRef(module) if module else unknown(wanted, kind="opaque")
        return Ext(canonical(wanted))

    def only_of_project(self, importer: Module, name: Value, package: Value | None) -> bool:
        """Does an import by a name that is known in part mean a module in some package of the project?"""
        known = asked_names.beginning(self, name)
        above, dot, _ = known.lstrip(".").rpartition(".")
        level = len(known) - len(known.lstrip("."))
        if level:
            holder = str(package.value).split(".") if isinstance(package, Const) else []
            above = ".".join([*holder[: len(holder) - level + 1], *([above] if dot else [])])
        path = self.project.resolve(importer.path, above) if dot or level else None
        return path is not None and os.path.basename(path) == "__init__.py"

    def import_name(self, importer: Module, node: nodes.ImportFrom, name: str) -> Value:
        """``from a import name``: a file of the project, a name in it, or one of another package."""
        base = node.modname or ""
        level = node.level or 0
        path = self.project.resolve(importer.path, base, level)
        if path:
            module = self.project.module(path)
            if module is None:
                return unknown(name, kind="opaque")
            return self.member(module, name)
        submodule = self.project.resolve(importer.path, f"{base}.{name}" if base else name, level)  # namespace packages
        if submodule and (module := self.project.module(submodule)):
            return ModRef(module)
        if level:
            return unknown(name, kind="opaque")
        return Ext(canonical(f"{base}.{name}"))

    def member(self, module: Module, name: str) -> Value:
        """``module.name``: something that it binds, or a file below it."""
        if (module, name) in self.store.state or name in module.bindings:
            return self.global_name(module, name)
        if module.is_package:
            path = self.project.resolve(module.path, name, 1)
            below = self.project.module(path) if path else None
            if below is not None:
                return ModRef(below)
        return self.global_name(module, name)

    def is_unknown(self, value: Value) -> bool:
        from ...domain.values import Obj

        return isinstance(value, Obj) and value.atom.kind in ("unknown", "opaque") and value.parent is None


def _if_imports_work(statements: list[nodes.NodeNG]) -> list[nodes.NodeNG]:
    """``HAS_X = True`` of a ``try``, not the constant that its handler sets."""
    constant = [isinstance(node, nodes.Assign) and isinstance(node.value, nodes.Const) for node in statements]
    handled = [isinstance(node.parent, nodes.ExceptHandler) for node in statements]
    if all(constant) and any(handled) and not all(handled):
        return [node for node, is_handled in zip(statements, handled) if not is_handled]
    return statements
