"""Where a program begins: scripts that can reach a sharding call, then what no script calls.

Interpreting is dear, so this works on names alone: which functions mention a function that
mentions ``fully_shard``. That overestimates, which costs time and never a finding.
"""

from __future__ import annotations

import ast
import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from astroid import nodes

from .project import Module, Project, Unreadable

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)|import[ \t]+([^\n#;]*))", re.MULTILINE
)
_NAME = re.compile(rb"[A-Za-z_]\w*")
# Names that say nothing about which function is meant; they count within one file only.
_GENERIC = frozenset(
    """main run train forward setup build apply init __init__ __call__ wrapper get load save step fit call
    create make wrap prepare execute start launch configure update test eval evaluate inner decorator func fn
    from_config from_pretrained __enter__ __post_init__ model wrapped to initialize process""".split()
)  # fmt: skip
MAX_CLIMB = 6
MAX_CALLERS = 8
MAX_SUBCLASSES = 6
SEED = "fully_shard"


@dataclass(slots=True)
class Definition:
    """A top-level function, a method, or a module's own statements (name empty)."""

    path: str
    name: str
    owner: str  # class of a method
    row: int
    mentions: set[str]
    bound: dict[str, set[str]] = field(default_factory=dict)  # name -> keywords and names it is stored under

    @property
    def callable_names(self) -> set[str]:
        names = {self.name} if self.name and self.name not in _GENERIC else set()
        return names | ({self.owner} if self.owner else set())


@dataclass(frozen=True, slots=True)
class Entry:
    kind: str  # "script", "function" or "class"
    name: str
    module: Module
    node: nodes.NodeNG


@dataclass(slots=True)
class Plan:
    project: Project
    seeds: list[str] = field(default_factory=list)
    scripts: list[Entry] = field(default_factory=list)
    sharding: list[Definition] = field(default_factory=list)
    reaching: list[Definition] = field(default_factory=list)
    subclasses: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # by name of the base: file and name

    def callers(self, reached: set[nodes.NodeNG]) -> Iterator[Entry]:
        """Outermost callers of sharding code that nothing reached so far; the code itself last."""
        later: list[Entry] = []
        for definition in self.sharding:
            for caller in self._callers(definition)[:MAX_CALLERS]:
                yield from self._until_reached(self._climb([definition, caller]), reached, later)
            yield from self._until_reached([definition], reached, later)
        yield from later

    def _climb(self, chain: list[Definition]) -> list[Definition]:
        """Who calls the last one, and who calls that, by the first caller of each."""
        while len(chain) < MAX_CLIMB and (above := [each for each in self._callers(chain[-1]) if each not in chain]):
            chain.append(above[0])
        return chain[1:]

    def _until_reached(
        self, chain: list[Definition], reached: set[nodes.NodeNG], later: list[Entry]
    ) -> Iterator[Entry]:
        """Entries from the outermost in, until the innermost of the chain was run.

        Of a class's subclasses one comes now; the others come when all code has had its turn.
        """
        for candidate in reversed(chain):
            inner = self._find(chain[0])
            if inner is None or inner.node in reached:
                break
            entry = self._entry(candidate)
            if entry is not None:
                first, *others = self._derived(entry) or [entry]
                yield first
                later += others
        inner = self._find(chain[0])
        if inner is not None and inner.node not in reached:
            yield inner

    def _callers(self, callee: Definition) -> list[Definition]:
        return [each for each in self.reaching if each.name and each is not callee and _calls(each, callee)]

    def _entry(self, definition: Definition) -> Entry | None:
        """A method is entered through its class."""
        found = self._find(definition)
        if found is None or not definition.owner:
            return found
        cls = found.node.parent
        if not isinstance(cls, nodes.ClassDef):
            return found
        return Entry("class", f"{definition.path}:{cls.name}", found.module, cls)

    def _derived(self, entry: Entry, above: tuple[str, ...] = ()) -> list[Entry]:
        """Who inherits a class that nobody builds: those are what a framework builds, with all their methods."""
        found: list[Entry] = []
        for path, name in self.subclasses.get(entry.node.name, ()) if entry.kind == "class" else ():
            module = self.project.module(path)
            node = (
                next((each for each in module.tree.body if getattr(each, "name", "") == name), None) if module else None
            )
            if module is not None and isinstance(node, nodes.ClassDef) and name not in (*above, entry.node.name):
                derived = Entry("class", f"{path}:{name}", module, node)
                found += self._derived(derived, (*above, entry.node.name)) or [derived]
        return found[:MAX_SUBCLASSES]

    def _find(self, definition: Definition) -> Entry | None:
        module = self.project.module(definition.path)
        if module is None:
            return None
        for node in module.tree.nodes_of_class(nodes.FunctionDef):
            if node.name == definition.name and definition.row in (node.fromlineno, node.lineno):
                return Entry("function", f"{definition.path}:{definition.name}", module, node)
        return None


def _calls(caller: Definition, callee: Definition) -> bool:
    if callee.name in caller.mentions and (callee.name not in _GENERIC or caller.path == callee.path):
        return True
    return bool(callee.owner and callee.owner in caller.mentions and caller.owner != callee.owner)


def find_entries(project: Project, explicit: frozenset[str]) -> Plan:
    plan = Plan(project)
    plan.seeds = [path for path in project.files if _mentions_seed(project, path)]
    if not plan.seeds:
        return plan
    importers = _importers(project, plan.seeds)
    project.relevant = {*plan.seeds, *importers}
    definitions = [each for path in [*plan.seeds, *importers] for each in _definitions(project, path)]
    plan.sharding = [each for each in definitions if SEED in each.mentions]
    sharding = {id(each) for each in plan.sharding}
    others = {each.name for each in definitions if each.owner and id(each) not in sharding} | _GENERIC
    for each in plan.sharding:
        if each.owner and each.name not in others:
            project.sharding_methods.setdefault(each.name, []).append((each.path, each.owner))
    plan.reaching = _reaching(definitions, plan.sharding, project.imported_by)
    base = os.path.commonpath([os.path.dirname(path) for path in project.files])

    def checked(path: str) -> bool:
        return path in explicit or not _is_test(os.path.relpath(path, base))

    plan.reaching = [each for each in plan.reaching if checked(each.path)]
    plan.sharding = [each for each in plan.sharding if each.name and checked(each.path)]
    for path in [each.path for each in plan.reaching if not each.name]:
        module = project.module(path)
        if module is not None and _is_script(module):
            plan.scripts.append(Entry("script", path, module, module.tree))
    for path in filter(checked, [*plan.seeds, *importers]):
        for base_name, name in _inheritance(project, path):
            plan.subclasses.setdefault(base_name, []).append((path, name))
    return plan


def _mentions_seed(project: Project, path: str) -> bool:
    """Does code (not only a comment or a string) speak of ``fully_shard``?"""
    try:
        data = project.data(path)
    except Unreadable as error:
        project.unreadable.setdefault(path, error)
        return False
    if SEED.encode() not in data:
        return False
    tree = project.ast(path)
    return tree is not None and any(_speaks(node) for node in ast.walk(tree))


def _speaks(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == SEED
    if isinstance(node, ast.Attribute):
        return node.attr == SEED
    return isinstance(node, ast.alias) and (node.name.split(".")[-1] == SEED or node.asname == SEED)


def _importers(project: Project, seeds: list[str]) -> list[str]:
    """Files that import a seed, directly or not."""
    for path in project.files:
        if path not in project.unreadable:
            for target in _imports(project, path, project.data(path)):
                project.imported_by.setdefault(target, []).append(path)
    found: dict[str, None] = {}
    queue = list(seeds)
    while queue:
        for importer in project.imported_by.get(queue.pop(), ()):
            if importer not in found and importer not in seeds:
                found[importer] = None
                queue.append(importer)
    return list(found)


def _imports(project: Project, path: str, data: bytes) -> Iterator[str]:
    seen: set[tuple[str, int]] = set()
    for match in _IMPORT.finditer(data):
        base, names, plain = match.groups()
        if plain is not None:
            wanted = [(part.split(b" as ")[0].strip().decode("ascii", "replace"), 0) for part in plain.split(b",")]
        else:
            text = base.decode("ascii", "replace")
            level = len(text) - len(text.lstrip("."))
            text = text.lstrip(".")
            wanted = [(text, level)]
            wanted += [(f"{text}.{name.decode()}" if text else name.decode(), level) for name in _NAME.findall(names)]
        for name, level in wanted:
            if (name, level) not in seen and (name or level):
                seen.add((name, level))
                target = project.resolve(path, name, level)
                if target:
                    yield target


def _definitions(project: Project, path: str) -> Iterator[Definition]:
    tree = project.ast(path)
    if tree is None:
        return
    own: set[str] = set()
    aliases = _aliases(tree)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Definition(path, node.name, "", node.lineno, _names(node, aliases), _bound(node))
            own |= {name for decorator in node.decorator_list for name in _names(decorator, aliases)}
        elif isinstance(node, ast.ClassDef):
            own |= {name for decorator in node.decorator_list for name in _names(decorator, aliases)}
            for child in ast.walk(node):
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield Definition(path, child.name, node.name, child.lineno, _names(child, aliases), _bound(child))
        elif isinstance(node, (ast.If, ast.Try)):
            for child in ast.walk(node):
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield Definition(path, child.name, "", child.lineno, _names(child, aliases))
            own |= _names(node, aliases)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            own |= _names(node, aliases)
    yield Definition(path, "", "", 1, own, _bound(tree))


def _inheritance(project: Project, path: str) -> Iterator[tuple[str, str]]:
    tree = project.ast(path)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                yield _last(base), node.name


def _bound(tree: ast.AST) -> dict[str, set[str]]:
    """Function values that travel: ``spec(fn=apply)``, ``self.fn = apply``, ``TABLE["x"] = apply``."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg and isinstance(node.value, (ast.Name, ast.Attribute)):
            found.setdefault(_last(node.value), set()).add(node.arg)
        elif isinstance(node, ast.Assign):
            names = {_last(target) for target in node.targets} - {""}
            for value in (
                ast.walk(node.value) if isinstance(node.value, (ast.Dict, ast.List, ast.Tuple)) else [node.value]
            ):
                if isinstance(value, (ast.Name, ast.Attribute)):
                    found.setdefault(_last(value), set()).update(names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for value in node.value.values:
                if isinstance(value, (ast.Name, ast.Attribute)):
                    found.setdefault(_last(value), set()).add(_last(node.target))
    return found


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _names(tree: ast.AST, aliases: dict[str, set[str]]) -> set[str]:
    """Names and attributes that code mentions; for an alias also what it stands for."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    for name in found & aliases.keys():
        found = found | aliases[name]
    return found


def _aliases(tree: ast.AST) -> dict[str, set[str]]:
    """``from util import shard as apply``, anywhere in the file."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.asname and alias.asname != alias.name:
                    found.setdefault(alias.asname, set()).add(alias.name.split(".")[-1])
    return found


def _reaching(
    definitions: list[Definition], sharding: list[Definition], importers: dict[str, list[str]]
) -> list[Definition]:
    """All definitions from which a sharding call may be reached, by name."""
    mentioned_by: dict[str, list[Definition]] = {}
    for definition in definitions:
        for name in definition.mentions:
            mentioned_by.setdefault(name, []).append(definition)
    stored_as: dict[str, set[str]] = {}
    for definition in definitions:
        for name, others in definition.bound.items():
            stored_as.setdefault(name, set()).update(others - _GENERIC)
    reached: dict[int, Definition] = {id(each): each for each in sharding}
    queue = deque(sharding)  # breadth first: the closest callers come first
    while queue:
        callee = queue.popleft()
        names = set(callee.callable_names)
        for name in list(names):
            names |= stored_as.get(name, set())
        callers = [caller for name in names for caller in mentioned_by.get(name, ())]
        if callee.name in _GENERIC:
            users = {callee.path, *importers.get(callee.path, ())}
            callers += [caller for caller in mentioned_by.get(callee.name, ()) if caller.path in users]
        for caller in callers:
            if id(caller) not in reached:
                reached[id(caller)] = caller
                queue.append(caller)
    return list(reached.values())


def _is_script(module: Module) -> bool:
    """Does running the file do something: a main guard, or calls at its top level?"""
    for node in module.tree.body:
        if isinstance(node, nodes.If) and any(name.name == "__name__" for name in node.test.nodes_of_class(nodes.Name)):
            return True
        if isinstance(node, (nodes.For, nodes.While, nodes.With)):
            return True
        if isinstance(node, nodes.Expr) and isinstance(node.value, nodes.Call):
            return True
    return False


def _is_test(path: str) -> bool:
    parts = path.split(os.sep)
    name = parts[-1]
    return (
        bool({"tests", "test", "testing"} & set(parts[:-1]))
        or name.startswith("test_")
        or name.endswith("_test.py")
        or name == "conftest.py"
    )
