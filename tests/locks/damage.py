"""Correct programs in which one function or class does some harm to what it gets or makes.

What a part of a program could have changed is what it does change here. A definition is renamed and wrapped, in the
empty rows behind it: ``def shard(*args, **kwargs): out = _shard(*args, **kwargs); args[0].half(); return out``.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from tests.locks.edits import Definition, definitions, span
from tests.locks.programs import Program
from tests.locks.wraps import subjects

HARM = """\
{it}.half()
{it}.bfloat16()
{it}.to("cuda")
{it}.cpu()
{it}.eval()
{it}.requires_grad_(False)
{it}.forward(None)
{it}(torch.zeros(1))
{it}.unshard()
{it}.reshard()
{it}.zero_grad()
{it}.step()
{it}.to_empty(device="cuda")
{it}.set_requires_gradient_sync(False)
{it}.set_is_last_backward(False)
{it}.set_reshard_after_backward(False)
{it}.register_parameter("more", nn.Parameter(torch.zeros(8)))
{it}.more = nn.Linear(8, 8)
{it}.first, {it}.second = nn.Linear(8, 8), nn.Linear(8, 8); {it}.second.weight = {it}.first.weight
{it}.head.weight = {it}.embed.weight
{it}.load_state_dict(torch.load("model.pt"))
torch.save({it}.state_dict(), "model.pt")
fully_shard({it})
fully_shard({it}, reshard_after_forward=False)
[fully_shard(each) for each in {it}.children()]
torch.optim.AdamW({it}.parameters()).step()
torch.compile({it})
copy.deepcopy({it})
torch.nn.utils.clip_grad_norm_({it}.parameters(), 1.0)
nn.init.zeros_(next({it}.parameters()))
""".splitlines()
PLACES = {"function": ("args[0]", "args[1]", "out"), "class": ("self",)}
NEEDS = "import copy, torch; from torch import nn; from torch.distributed.fsdp import fully_shard"
FUNCTION = "def {name}(*args, **kwargs): {needs}; out = _{name}(*args, **kwargs); {harm}; return out"
CLASS = """\
class {name}(_{name}):
    def __init__(self, *args, **kwargs): {needs}; super().__init__(*args, **kwargs); {harm}"""


def damaged(program: Program) -> Iterator[tuple[str, str, Program]]:
    """(file, name, program): each plain function and class of the top level with each harm that fits its rows."""
    models = subjects(program)
    for file, text in program.files.items():
        tree = ast.parse(text) if file.endswith(".py") else ast.Module([], [])
        for node in definitions(tree):
            for harm in _harms(node, models) if _is_plain(node) else ():
                if worse := _wrapped(text, node, harm):
                    files = {**program.files, file: worse}
                    yield file, node.name, program.with_files(files, f" with {harm!r} in {file}:{node.name}")


def _is_plain(node: Definition) -> bool:
    """Generators and what a decorator makes are called in other ways."""
    inner = [each for each in ast.walk(node) if isinstance(each, (ast.Yield, ast.YieldFrom))]
    return not (node.decorator_list or isinstance(node, ast.AsyncFunctionDef) or inner or node.name == "main")


def _harms(node: Definition, models: Collection[str]) -> list[str]:
    """What a function gets is harmed where the program uses it as a model or an optimizer: a mesh has no layers."""
    places = PLACES["class" if isinstance(node, ast.ClassDef) else "function"]
    if not isinstance(node, ast.ClassDef):
        given = [each.arg in models for each in node.args.args]
        places = tuple(it for it in places if it == "out" or given[int(it[5]) : int(it[5]) + 1] == [True])
    return [harm.format(it=it) for it in places for harm in HARM]


def _wrapped(text: str, node: Definition, harm: str) -> str | None:
    """None where the rows behind the definition are not empty."""
    shape = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
    wrapper = shape.format(name=node.name, needs=NEEDS, harm=harm).split("\n")
    lines = _renamed(text, node).split("\n")
    end = span(text, node).end_row
    if any(line.strip() for line in lines[end : end + len(wrapper)]) or len(lines) < end + len(wrapper):
        return None
    return "\n".join([*lines[:end], *wrapper, *lines[end + len(wrapper) :]])


def _renamed(text: str, node: Definition) -> str:
    """``super()`` and what a class says of itself keep working: only the name that it is bound to changes."""
    keyword = "class" if isinstance(node, ast.ClassDef) else "def"
    lines = text.split("\n")
    row = node.lineno - 1
    lines[row] = lines[row].replace(f"{keyword} {node.name}", f"{keyword} _{node.name}", 1)
    return "\n".join(lines)
