"""Random seeds: the same for all ranks, or one for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astroid import nodes

from ..values import NONE, Obj, Rank, Value
from .tables import external

if TYPE_CHECKING:
    from ..interp.call import Call
    from ..interp.interpreter import Interpreter


@external("torch.manual_seed", "torch.random.manual_seed", "transformers.set_seed", "lightning.seed_everything")
def manual_seed(machine: Interpreter, call: Call) -> Value:
    node = call.node.args[0] if isinstance(call.node, nodes.Call) and call.node.args else None
    by_rank = machine.called_name.startswith("torch.") and node is not None and _differs(machine, node)
    machine.emit("seeded", call.node, None, by_rank=by_rank)
    machine.blank.seeded_by_rank = by_rank
    return NONE


def _differs(machine: Interpreter, node: nodes.NodeNG) -> bool:
    """Is it surely another number on each rank: the rank itself, or a sum with it?"""
    if isinstance(node, nodes.BinOp) and node.op in "+-":
        return _differs(machine, node.left) is not _differs(machine, node.right)
    if isinstance(node, nodes.Name) or isinstance(node, nodes.Call) and node.func.as_string().endswith("get_rank"):
        return machine.eval(node) == Rank("global")
    return False


def built(machine: Interpreter, obj: Obj) -> None:
    """A module has drawn its weights: when, and what may change them from here on is of interest."""
    obj.atom.facts["built"] = machine.now
    if machine.blank.seeded_by_rank:
        machine.blank.atoms.add(machine.address(obj)[0])
