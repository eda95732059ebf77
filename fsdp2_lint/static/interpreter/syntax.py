"""What class bodies and decorators say, read off the syntax once."""

from __future__ import annotations

from astroid import nodes
from astroid.const import Context

from ..frontend.origins import full_name

_ANY_ERROR = frozenset({"BaseException", "Exception"})
_JUMPS = (nodes.Return, nodes.Raise, nodes.Break, nodes.Continue)


def class_body(node: nodes.ClassDef) -> dict[str, nodes.NodeNG]:
    """What a class body binds, by name; the last binding counts."""
    found: dict[str, nodes.NodeNG] | None = getattr(node, "fsdp2_body", None)
    if found is None:
        found = {}
        for child in _flat(node.body):
            if isinstance(child, nodes.FunctionDef):
                if not any(name.endswith(".setter") for name in decorator_names(child)):
                    found[child.name] = child
            elif isinstance(child, nodes.ClassDef):
                found[child.name] = child
            elif isinstance(child, nodes.Assign):
                for target in child.targets:
                    found.update(_bound_names(child, target))
            elif isinstance(child, nodes.AnnAssign) and isinstance(child.target, nodes.AssignName):
                found[child.target.name] = child
        node.fsdp2_body = found
    return found


def _bound_names(child: nodes.Assign, target: nodes.NodeNG) -> dict[str, nodes.NodeNG]:
    """What one target of an assignment binds; ``rank, size = 0, 1`` counts as two assignments."""
    if isinstance(target, nodes.AssignName):
        return {target.name: child}
    if not isinstance(target, nodes.Tuple) or not isinstance(child.value, nodes.Tuple):
        return {}
    if any(isinstance(part, nodes.Starred) for part in (*target.elts, *child.value.elts)):
        return {}
    pairs = zip(target.elts, child.value.elts)
    return {name.name: _assigns(child, name, value) for name, value in pairs if isinstance(name, nodes.AssignName)}


def _assigns(child: nodes.Assign, name: nodes.AssignName, value: nodes.NodeNG) -> nodes.Assign:
    made = nodes.Assign(child.lineno, child.col_offset, child.parent, end_lineno=child.end_lineno, end_col_offset=0)
    made.postinit([name], value, None)
    return made


def initial_values(node: nodes.ClassDef) -> dict[str, nodes.NodeNG]:
    """Attributes that an initialiser always sets from outside values alone, and nothing else in the class sets."""
    found: dict[str, nodes.NodeNG] | None = getattr(node, "fsdp2_initial", None)
    if found is None:
        found = node.fsdp2_initial = {}
        written = [part.attrname for part in node.nodes_of_class(nodes.AssignAttr)]
        for func in node.body:
            if isinstance(func, nodes.FunctionDef) and func.name in ("__init__", "__post_init__"):
                own = set(func.locals)
                for child in func.body:
                    target = child.targets[0] if isinstance(child, nodes.Assign) else None
                    if isinstance(target, nodes.AssignAttr) and written.count(target.attrname) == 1:
                        if not any(name.name in own for name in child.value.nodes_of_class(nodes.Name)):
                            found[target.attrname] = child.value
    return found


def setters(node: nodes.ClassDef) -> dict[str, nodes.FunctionDef]:
    return {
        child.name: child
        for child in node.body
        if isinstance(child, nodes.FunctionDef) and any(name.endswith(".setter") for name in decorator_names(child))
    }


def _flat(body: list[nodes.NodeNG]) -> list[nodes.NodeNG]:
    flat = []
    for child in body:
        flat += _flat([*child.body, *child.orelse]) if isinstance(child, nodes.If) else [child]
    return flat


def is_field(node: nodes.NodeNG) -> bool:
    """Does a statement of a class body declare a field of its objects, and not a variable of the class?"""
    kind = node.annotation if isinstance(node, nodes.AnnAssign) else None
    return kind is not None and full_name(getattr(kind, "value", kind)) != "typing.ClassVar"


def decorator_names(node: nodes.FunctionDef) -> set[str]:
    found: set[str] | None = getattr(node, "fsdp2_decorators", None)
    if found is None:
        parts = node.decorators.nodes if node.decorators else []
        found = {(part.func if isinstance(part, nodes.Call) else part).as_string() for part in parts}
        node.fsdp2_decorators = found
    return found


def is_method(node: nodes.NodeNG) -> bool:
    """Is the first parameter what it is looked up on? By what is written: astroid would infer its decorators."""
    own = isinstance(node, nodes.FunctionDef) and isinstance(node.parent.frame(), nodes.ClassDef)
    return own and "staticmethod" not in decorator_names(node)


def changed_in(node: nodes.NodeNG) -> list[nodes.NodeNG]:
    """Names and attributes that a loop's body counts up or assigns."""
    found: list[nodes.NodeNG] | None = getattr(node, "fsdp2_changed", None)
    if found is None:
        found = []
        for child in node.nodes_of_class((nodes.AugAssign, nodes.Assign), skip_klass=nodes.FunctionDef):
            targets = [child.target] if isinstance(child, nodes.AugAssign) else child.targets
            several = [each for target in targets for each in getattr(target, "elts", [target])]
            found += [target for target in several if isinstance(target, (nodes.AssignName, nodes.AssignAttr))]
        node.fsdp2_changed = found
    return found


_GROWS = frozenset({"append", "appendleft", "extend", "extendleft", "insert"})


def grown_in(node: nodes.For | nodes.While) -> frozenset[str]:
    """Lists that a loop puts more into, of those that it takes from: of a ``for`` the one that it goes through."""
    found: frozenset[str] | None = getattr(node, "fsdp2_grown", None)
    if found is None:
        calls = [call.func for call in node.nodes_of_class(nodes.Call) if isinstance(call.func, nodes.Attribute)]
        names = {func.expr.name for func in calls if func.attrname in _GROWS and isinstance(func.expr, nodes.Name)}
        if isinstance(node, nodes.For):
            names &= {node.iter.name} if isinstance(node.iter, nodes.Name) else set()
        found = node.fsdp2_grown = frozenset(names)
    return found


def sets_items(node: nodes.NodeNG) -> bool:
    """Does it set items, ``x[key] = value``, of what it has bound to a name itself?"""
    found = getattr(node, "fsdp2_sets_items", None)
    if found is None:
        bound = {part.name for part in node.nodes_of_class(nodes.AssignName)}
        written = [part.value for part in node.nodes_of_class(nodes.Subscript) if part.ctx is Context.Store]
        found = node.fsdp2_sets_items = any(isinstance(base, nodes.Name) and base.name in bound for base in written)
    return bool(found)


def catches_all(handler: nodes.ExceptHandler) -> bool:
    """Does it catch whatever goes wrong, rather than an error that says what is there and what is not?"""
    return handler.type is None or getattr(handler.type, "name", "") in _ANY_ERROR


def jumps_out(node: nodes.NodeNG) -> bool:
    """Does a branch leave the block (function bodies inside it aside)?"""
    found = getattr(node, "fsdp2_jumps", None)
    if found is None:
        found = any(
            isinstance(child, _JUMPS)
            or (not isinstance(child, (nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)) and jumps_out(child))
            for child in node.get_children()
        )
        node.fsdp2_jumps = found
    return found


def ends_early(loop: nodes.For | nodes.While) -> bool:
    """May a ``break`` or a ``return`` in its body end the loop before it has gone through all there is?"""
    found: bool | None = getattr(loop, "fsdp2_ends", None)
    if found is None:
        found = loop.fsdp2_ends = any(_ends(part, inner=False) for part in loop.body)
    return found


def _ends(node: nodes.NodeNG, *, inner: bool) -> bool:
    """``inner``: in a loop inside the loop, whose breaks are its own."""
    if isinstance(node, (nodes.Break, nodes.Return)):
        return not inner or isinstance(node, nodes.Return)
    if isinstance(node, (nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)):
        return False
    inner = inner or isinstance(node, (nodes.For, nodes.While))
    return any(_ends(child, inner=inner) for child in node.get_children())


def unwraps(node: nodes.While) -> bool:
    """``while hasattr(model, "module"): model = model.module``, with any name and any test of what the name is."""
    taken = node.body[0] if len(node.body) == 1 and not node.orelse else None
    if not isinstance(taken, nodes.Assign) or not isinstance(taken.value, nodes.Attribute):
        return False
    name = taken.value.expr.name if isinstance(taken.value.expr, nodes.Name) else ""
    tests = node.test.values if isinstance(node.test, nodes.BoolOp) else [node.test]
    return (
        bool(name)
        and [target.as_string() for target in taken.targets] == [name]
        and all(
            isinstance(test, nodes.Call)
            and test.func.as_string() in ("hasattr", "isinstance")
            and bool(test.args)
            and test.args[0].as_string() == name
            for test in tests
        )
    )


def checks(func: nodes.FunctionDef | nodes.Lambda) -> bool:
    """Does a function refuse something, by ``assert`` or by raising?"""
    found: bool | None = getattr(func, "fsdp2_checks", None)
    if found is None:
        found = func.fsdp2_checks = next(func.nodes_of_class((nodes.Assert, nodes.Raise)), None) is not None
    return found


_LOOPS = (nodes.For, nodes.While, nodes.ListComp, nodes.SetComp, nodes.DictComp, nodes.GeneratorExp)


def loops_around(places: list[nodes.NodeNG]) -> tuple[nodes.NodeNG, ...]:
    """The loops in which these places lie, each within its function; the outermost first."""
    found: list[nodes.NodeNG] = []
    for place in places:
        own, at = [], place
        while at is not None and not isinstance(at, (nodes.FunctionDef, nodes.ClassDef)):
            own += [at] if isinstance(at, _LOOPS) else []
            at = at.parent
        found += reversed(own)
    return tuple(found)


def is_dataclass(cls: nodes.NodeNG) -> bool:
    """Its ``__init__`` sets all fields; of other classes a None may be there for others to fill."""
    made_by = cls.decorators.nodes if isinstance(cls, nodes.ClassDef) and cls.decorators is not None else []
    called = [each.func if isinstance(each, nodes.Call) else each for each in made_by]
    return any(full_name(each) == "dataclasses.dataclass" for each in called)


def hands_out_code(func: nodes.NodeNG) -> bool:
    """Does it return a function or class of its own, such as a decorator? What that is handed is not known yet."""
    found: bool | None = getattr(func, "fsdp2_hands_out", None)
    if found is None:
        made = {part.name for part in func.nodes_of_class((nodes.FunctionDef, nodes.ClassDef)) if part is not func}
        returned = [part.value for part in func.nodes_of_class(nodes.Return) if part.value is not None]
        named = (part for value in returned for part in value.nodes_of_class((nodes.Name, nodes.Lambda)))
        found = func.fsdp2_hands_out = any(isinstance(part, nodes.Lambda) or part.name in made for part in named)
    return found


def by_position(spec: nodes.Arguments) -> list[nodes.AssignName]:
    """The parameters that a call may fill without their names."""
    return [*(spec.posonlyargs or []), *(spec.args or [])]


def defaults_of(spec: nodes.Arguments) -> dict[str, nodes.NodeNG]:
    """Of the parameters that have one."""
    names, defaults = by_position(spec), spec.defaults or []
    pairs = [*zip(names[len(names) - len(defaults) :], defaults), *zip(spec.kwonlyargs or [], spec.kw_defaults or [])]
    return {name.name: default for name, default in pairs if default is not None}


def returns_itself(function: nodes.FunctionDef) -> bool:
    """Does a method return nothing but its own object, as ``__enter__`` most often does?"""
    own = function.args.args[0].name if function.args.args else ""
    ways = [each for each in function.nodes_of_class(nodes.Return) if each.scope() is function]
    rebound = any(each.name == own for each in function.nodes_of_class(nodes.AssignName))
    ends = bool(function.body) and isinstance(function.body[-1], nodes.Return)
    return ends and not rebound and all(isinstance(each.value, nodes.Name) and each.value.name == own for each in ways)
