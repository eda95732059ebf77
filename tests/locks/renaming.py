"""Every identifier of a program gets another name, the same everywhere; what it does stays the same.

A name is renamed everywhere or nowhere, in place, so rows stay. It is left alone where somebody else gives it a
meaning: Python, torch, a known package, a string that is looked up, a command line, pytest.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from fsdp2_lint.static.frontend.packages import rows
from fsdp2_lint.static.libraries.tables import EXTERNALS, FRAMEWORKS

KNOWN = (
    frozenset(name.split(".")[0] for name in (*rows(), *EXTERNALS))
    | FRAMEWORKS.keys()
    | sys.stdlib_module_names
    | {"hydra", "__future__", "pytest", "setuptools"}
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What modules, tensors, optimizers, data sets, checkpoints and models of libraries have anyway, by its names.
_API = frozenset(
    """forward backward step zero_grad train eval parameters named_parameters buffers named_buffers modules
    named_modules children named_children state_dict load_state_dict to cuda cpu half float bfloat16 double type
    apply compile register_buffer register_parameter register_module add_module reset_parameters init_weights
    extra_repr training weight bias data grad dtype device shape size dim numel item requires_grad requires_grad_
    in_features out_features num_embeddings embedding_dim normalized_shape eps weights param_groups defaults state
    params lr betas momentum add_param_group set_epoch dataset sampler batch_size shuffle drop_last generator config
    model layers lm_head embed_tokens norm norms loss logits module base_model gradient_checkpointing_enable
    generate encode decode save load save_pretrained from_pretrained from_config unshard reshard full_tensor
    to_local redistribute placements configure_optimizers training_step validation_step configure_model setup
    prepare fit log log_dict mean std sum max min rank world_size local_rank global_rank process_index
    is_main_process index name value values keys items get pop append extend update copy self cls args kwargs
    print_trainable_parameters inputs labels input_ids attention_mask get_rank get_world_size mesh mesh_dim_names
    device_type device_mesh x main parse_args add_argument""".split()
)


def is_known(package: str) -> bool:
    return package.split(".")[0] in KNOWN


def renamed(files: Mapping[str, str], to: Callable[[int], str]) -> tuple[dict[str, str], dict[str, str]]:
    """The program under other names, and the names: ``to`` gives the n-th."""
    sources = {path: text for path, text in files.items() if path.endswith(".py")}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    own = _own_modules(files)
    kept = set(_API).union(*(_kept(tree, own) for tree in trees.values()))
    defined = {attribute for tree in trees.values() for attribute in _defined_attributes(tree)}
    foreign = {name for tree in trees.values() for name in _attributes(tree)} - defined
    foreign |= {name for tree in trees.values() for name in _foreign_keywords(tree, trees.values())}
    wanted = {name for tree in trees.values() for name in _bound(tree)} | own
    names = sorted(name for name in wanted if _free(name) and name not in kept and name not in foreign)
    mapping = {name: to(number) for number, name in enumerate(names)}
    done = {path: _rewritten(text, mapping) if path in sources else text for path, text in files.items()}
    return {file_of(path, mapping): text for path, text in done.items()}, mapping


def file_of(path: str, names: Mapping[str, str]) -> str:
    at = PurePosixPath(path)
    if at.suffix != ".py":
        return path
    return str(PurePosixPath(*(names.get(part, part) for part in at.parent.parts), names.get(at.stem, at.stem) + ".py"))


def in_words(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)


def _free(name: str) -> bool:
    dunder = name.startswith("__")
    return not (dunder or keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name))


def _own_modules(files: Mapping[str, str]) -> set[str]:
    """Names of files and folders; of tests and setup files others ask by name."""
    found = {part for path in files if path.endswith(".py") for part in PurePosixPath(path).with_suffix("").parts}
    return {name for name in found if not name.startswith("test") and name not in ("setup", "conftest", "src")}


def _kept(tree: ast.Module, own: set[str]) -> Iterator[str]:
    """Names to which a known package, a string, or a place that cannot be rewritten gives a meaning."""
    known = _known_names(tree, own)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _of_import(alias.name, own)
        elif isinstance(node, ast.ImportFrom):
            yield from _of_import(node.module or "", own) if not node.level else ()
            if not node.level and is_known(node.module or "") and (node.module or "").split(".")[0] not in own:
                yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"[A-Za-z]\w*", node.value.replace("-", "_"))
        elif isinstance(node, ast.Attribute):
            yield from _of_chain(node, known)
        elif isinstance(node, ast.JoinedStr):
            yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
            yield from (part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute))
            yield from (part.arg for part in ast.walk(node) if isinstance(part, ast.keyword) and part.arg)


def _known_names(tree: ast.Module, own: set[str]) -> set[str]:
    """What stands for a known package, or for something out of one."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each for each in node.names if _of_import(each.name, own)]
            found |= {each.asname or each.name.split(".")[0] for each in names}
        elif isinstance(node, ast.ImportFrom) and not node.level and _of_import(node.module or "", own):
            found |= {each.asname or each.name for each in node.names}
    return found


def _of_chain(node: ast.Attribute, known: set[str]) -> Iterator[str]:
    """``torch.optim.AdamW``: all that is behind the first dot."""
    at: ast.expr = node
    while isinstance(at, ast.Attribute):
        at = at.value
    if isinstance(at, ast.Name) and at.id in known:
        yield from (part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute))


def _of_import(module: str, own: set[str]) -> list[str]:
    parts = module.split(".")
    return parts if parts[0] not in own and is_known(module) else []


def _bound(tree: ast.Module) -> Iterator[str]:
    """What the program names itself, and what unknown packages are called."""
    for node in ast.walk(tree):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        elif isinstance(node, ast.Import):
            yield from (alias.asname for alias in node.names if alias.asname)
            yield from (part for alias in node.names if not is_known(alias.name) for part in alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname for alias in node.names if alias.asname)
            if node.module and not node.level and not is_known(node.module):
                yield from node.module.split(".")
                yield from (alias.name for alias in node.names if alias.name != "*")


def _defined_attributes(tree: ast.Module) -> Iterator[str]:
    """What is found behind a dot: fields, methods, and what a file of the program or an unknown package holds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, (ast.ClassDef, ast.Module)):
            yield from _bound_here(node.body)
        elif isinstance(node, ast.Import):
            yield from (part for alias in node.names if not is_known(alias.name) for part in alias.name.split("."))


def _bound_here(body: list[ast.stmt]) -> Iterator[str]:
    """By the statements of a block, not inside of functions."""
    for node in body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.name
            continue
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
        for inner in ("body", "orelse", "finalbody", "handlers"):
            yield from _bound_here(getattr(node, inner, []))


def _attributes(tree: ast.Module) -> Iterator[str]:
    yield from (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def _foreign_keywords(tree: ast.Module, trees: Iterable[ast.Module]) -> Iterator[str]:
    """Keywords of calls that are not surely calls of the program's own functions."""
    own = _functions(trees)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for word in node.keywords:
                if word.arg is not None and word.arg not in own.get(called, ()):
                    yield word.arg


def _functions(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """For each function and class of the program the names of its parameters."""
    found: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS):
                spec = node.args
                names = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
                found.setdefault(node.name, set()).update(names)
            elif isinstance(node, ast.ClassDef):
                for part in ast.walk(node):
                    if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                        names = {each.arg for each in (*part.args.args, *part.args.kwonlyargs)}
                        found.setdefault(node.name, set()).update(names)
                    elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                        found.setdefault(node.name, set()).add(part.target.id)
    return found


def _rewritten(text: str, names: Mapping[str, str]) -> str:
    """Token by token, so that rows stay."""
    lines = text.splitlines(keepends=True)
    tokens = [each for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type == tokenize.NAME]
    for each in reversed(tokens):
        if each.string in names:
            row, column = each.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + names[each.string] + line[each.end[1] :]
    return "".join(lines)
