"""Edits that mend a place, from the syntax around it and from what the program does there."""

from __future__ import annotations

from astroid import nodes

from ....vocab.finding import Edit, Fix, Moment, Site
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.values import Obj
from .program import Program
from .source_edits import inserted, is_global, renamed, replaced, value_at

_RENAMED = {"device_mesh": "mesh"}
_DROPPED = frozenset({"use_orig_params", "limit_all_gathers"})  # FSDP2 always does what they asked for
# What asks for nothing: FSDP1's defaults, and what FSDP2 does as well.
_NOTHING: dict[str, object] = {
    **dict.fromkeys(["auto_wrap_policy", "cpu_offload", "mixed_precision", "ignored_modules", "ignored_states"]),
    **dict.fromkeys(["param_init_fn", "device_id", "process_group", "sharding_strategy"]),
    **dict.fromkeys(["sync_module_states", "forward_prefetch"], False),
}
_DEFAULTS = {"sharding_strategy": "ShardingStrategy.FULL_SHARD", "backward_prefetch": "BackwardPrefetch.BACKWARD_PRE"}


def keyword_fix(program: Program, step: Step[events.Sharded], keyword: str, when: Moment) -> Fix | None:
    """Another name for a keyword that fully_shard has under that name, or none where it needs none."""
    value = step.what.keywords[keyword]
    written = value.parent
    if not isinstance(written, nodes.Keyword) or not isinstance(written.parent, nodes.Call):
        return None  # it came in a dict
    path = when.at.path
    new = _RENAMED.get(keyword)
    if new is not None and new not in step.what.keywords:
        edit = renamed(path, value, keyword, new)
        return Fix((edit,)) if edit is not None else None
    if keyword not in _DROPPED and not _asks_nothing(keyword, value):
        return None
    start = (written.lineno, written.col_offset + 1)
    before = [
        (part.end_lineno, part.end_col_offset)
        for part in (*written.parent.args, *written.parent.keywords)
        if (part.end_lineno, part.end_col_offset) <= start
    ]
    if not before:
        return None
    row, column = max(before)
    dropped = Site(path, row, column + 1, value.end_lineno, value.end_col_offset + 1)
    return Fix((Edit(dropped, ""),), safe=row == start[0] or not _comments(program, path, range(row, start[0])))


def _asks_nothing(keyword: str, value: nodes.NodeNG) -> bool:
    if isinstance(value, nodes.Const):
        return keyword in _NOTHING and value.value is _NOTHING[keyword]
    default = _DEFAULTS.get(keyword)
    return default is not None and f".{value.as_string()}".endswith(f".{default}")


def _comments(program: Program, path: str, rows: range) -> bool:
    """May there be a comment that goes with what is dropped?"""
    lines = program.project.data(path).splitlines()
    return any(b"#" in line for line in lines[rows.start - 1 : rows.stop - 1])


def called_itself(program: Program, step: Step[events.Called]) -> Fix | None:
    """``model(x)`` for ``model.forward(x)``: the hooks that are missing run, and then the same ``forward``."""
    node, obj = step.what.written, step.subject
    if not isinstance(node, nodes.Call) or not isinstance(node.func, nodes.Attribute) or obj is None:
        return None
    if any(receiver is obj for receiver, _, _ in step.what.methods):
        return None  # ``self.forward(x)`` in what ``self(x)`` may run: it would call itself without end
    if program.machine.find_attr(obj, "__call__") is not None:
        return None
    others = [each.subject for each in program.trace.of(events.Called) if each.when.at == step.when.at]
    if not all(other is not None and _is_module(program, other) for other in others):
        return None  # what is no module may have a forward and be nothing to call
    edit = replaced(program, step.when.at.path, node.func, "")
    # Hooks of the program itself would run as well.
    hooks = program.project.mentions("register_forward_")
    return Fix((edit,), safe=not hooks) if edit is not None and node.func.attrname == "forward" else None


def _is_module(program: Program, obj: Obj) -> bool:
    return bool(obj.atom.module) or program.concerned(obj)


def clipped_by_torch(program: Program, step: AnyStep) -> Fix | None:
    """``torch.nn.utils.clip_grad_norm_(model.parameters(), ...)``, where nobody uses the norm: it is a DTensor then."""
    site = step.when.at
    call = value_at(program, site, nodes.Expr)
    if not isinstance(call, nodes.Call) or not isinstance(call.func, nodes.Attribute) or not call.args + call.keywords:
        return None
    edit = replaced(program, site.path, call.func, ".parameters(), ", "(")
    if edit is None or not _torch_is_imported(program, site.path) or not is_global("torch", call):
        return None
    before = inserted(site.path, site.row, site.column, "torch.nn.utils.clip_grad_norm_(")
    # With a wrapper of FSDP1, in another run, torch's function would clip by the norm of one rank's shard.
    return Fix((before, edit), safe=not program.project.mentions("FullyShardedDataParallel"))


def _torch_is_imported(program: Program, path: str) -> bool:
    """Is it there as ``torch`` in any case, in a whole file?"""
    module = program.project.module(path)
    imports = module.bindings.get("torch", []) if module is not None else []
    return bool(imports) and all(
        isinstance(each, nodes.Import)
        and isinstance(each.parent, nodes.Module)
        and all(alias != "torch" for _, alias in each.names)
        for each in imports
    )
