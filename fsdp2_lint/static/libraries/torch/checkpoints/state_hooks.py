"""Hooks on state dicts, which torch calls with the module, the dict, and lists and words of its own."""

from __future__ import annotations

from ....domain.values import Const, Obj, Partial, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import method

_SAVED = ("state_dict", "prefix", "local_metadata")
_LOADED = (*_SAVED, "strict", "missing_keys", "unexpected_keys", "error_msgs")
_HANDED = {
    "register_state_dict_pre_hook": ("prefix", "keep_vars"),
    "register_state_dict_post_hook": _SAVED,
    "_register_state_dict_hook": _SAVED,
    "register_load_state_dict_pre_hook": _LOADED,
    "_register_load_state_dict_pre_hook": _LOADED,
    "register_load_state_dict_post_hook": ("incompatible_keys",),
}


@method(*_HANDED)
def state_hook(machine: Machine, obj: Obj, call: Call) -> Value:
    """It runs once, nobody knows when; besides the module it is handed dicts and lists of tensors and names."""
    alone = call.name == "_register_load_state_dict_pre_hook" and call.arg(1, "with_module") in (None, Const(False))
    handed = [*([] if alone else [obj]), *map(unknown, _HANDED[call.name])]
    hooks = [leaf for value in call.all for _, leaf in machine.alternatives(value)]
    machine.libraries.callbacks(Call(call.node, [Partial(hook, tuple(handed), ()) for hook in hooks]))
    return unknown(f"{call.name}()")
