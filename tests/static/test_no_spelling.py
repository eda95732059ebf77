"""Nothing is decided by a part of a name: each test of a text in ``static/`` says here why it may be one.

A test of texts is a call such as ``startswith``, ``lower`` or ``search``, or ``in`` on a text. Who adds one asks for
the type, the origin, the value or the data flow instead; where that cannot be, the answer is *unknown*.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "fsdp2_lint" / "static"
_METHODS = frozenset(
    """lower upper casefold startswith endswith find rfind isupper islower istitle search match fullmatch removeprefix
    removesuffix""".split()
)
_TEXTS = frozenset("name text words who origin qname callee label path line source data".split())
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

QNAMES = "qualified names of packages that are known, and the conventions of those"
METHODS = "names of methods and attributes of torch, on what torch made"
PYTHON = "names to which Python gives a meaning"
PYTEST = "files that pytest takes for tests"
PATHS = "steps of a path, which the interpreter wrote itself"
WORDS = "words that the analysis made itself"
VALUES = "strings that the program computes with, and torch reads"
TEXT = "the text of a file, for edits or tables"
OWN = "files that the tool itself made or was installed with"
FILES = "which files are read, by a name of torch"
PLACES = "which file lies in which folder"
UNKNOWN = "a part of a name that only leads to unknown"
COMPUTED = "names that the program itself puts together from these parts"
REASONS = {COMPUTED, PLACES, QNAMES, METHODS, PYTHON, PYTEST, PATHS, WORDS, VALUES, TEXT, FILES, OWN, UNKNOWN}

ALLOWED = {
    "domain/events/base.py::Event.__init_subclass__": WORDS,
    "libraries/torch/ranks/seeds.py::drawn": QNAMES,
    "domain/spellings.py::spelled": VALUES,
    "frontend/definitions.py::mentions_seed": FILES,
    "frontend/joining.py::joins": FILES,
    "frontend/joining.py::registered": FILES,
    "frontend/leading.py::_called": PYTHON,
    "frontend/callers.py::_fits": COMPUTED,
    "harness.py::_methods": PYTHON,
    "cache/stamp.py::_record": OWN,
    "cache/store.py::Store._entries": OWN,
    "entries.py::Entry.key": WORDS,
    "checks/launch/machines.py::_is_this_machine": VALUES,
    "libraries/torch/launch/self_started.py::_here": VALUES,
    "checks/migration/fsdp1.py::_files": FILES,
    "checks/migration/api.py::StaticUse.absent": UNKNOWN,
    "checks/checkpoints/early_states.py::filled_early": QNAMES,
    "checks/shared/runs.py::_is_named": COMPUTED,
    "libraries/torch/training/optim.py::_of_groups": METHODS,
    "checks/sharding/units.py::_of_a_result": WORDS,
    "checks/checkpoints/payloads.py::StaticPayload._may_be_shards": QNAMES,
    "checks/checkpoints/shared_keys.py::StaticSharedKeys._counts_alike": QNAMES,
    "checks/ranks/data.py::StaticEpochs._no_sampler_of_torch": QNAMES,
    "checks/training/losses.py::StaticReduction._graph": QNAMES,
    "frontend/gates.py::_loads": PLACES,
    "frontend/lookup.py::loading": PLACES,
    "frontend/lookup.py::_by_computed_names": COMPUTED,
    "frontend/gates.py::_turns_away": UNKNOWN,
    "frontend/gates.py::_is_settled": QNAMES,
    "frontend/gates.py::asks": UNKNOWN,
    "frontend/gates.py::_is_flag": UNKNOWN,
    "checks/forward/choices.py::_is_content": QNAMES,
    "checks/sharding/consistency.py::StaticPolicy._is_block": PATHS,
    "libraries/torch/ranks/rounds.py::_hashed": PATHS,
    "libraries/torch/training/dtensors.py::_trained": PATHS,
    "libraries/torch/training/schedulers.py::group_changed": PATHS,
    "checks/migration/migration_checks.py::StaticConverted._below": PATHS,
    "checks/migration/migration_checks.py::_lacks_module": QNAMES,
    "checks/training/windows.py::_is_computed": QNAMES,
    "checks/precision/dtype_flow.py::_kind": QNAMES,
    "checks/precision/dtype_flow.py::_keeps": METHODS,
    "checks/ranks/errors.py::_is_python": QNAMES,
    "checks/initialisation/meta_device.py::_is_property": QNAMES,
    "checks/ranks/errors.py::_ways": WORDS,
    "checks/initialisation/initialisation.py::_has_weights": QNAMES,
    "libraries/torch/sharding/module_tree.py::is_weight": QNAMES,
    "checks/initialisation/initialisation.py::StaticEmptied._buffers": PATHS,
    "checks/initialisation/initialisation.py::StaticEmptied._kept_by": WORDS,
    "checks/migration/fsdp1_tests.py::_works_on": QNAMES,
    "checks/migration/fsdp1_tests.py::_is_known": QNAMES,
    "checks/sharding/grouping.py::StaticGrouping.ignored_trained": WORDS,
    "checks/initialisation/meta_device.py::StaticInitialised.without_reset_parameters": UNKNOWN,
    "checks/shared/models.py::StaticModel._one_list": PATHS,
    "checks/shared/left_out.py::LeftOut._filters": PATHS,
    "checks/shared/late_parts.py::LateParts._may_be": PATHS,
    "checks/shared/models.py::StaticModel.wrapped": QNAMES,
    "checks/shared/models.py::_asks_for_fsdp1": QNAMES,
    "checks/training/statement_moves.py::_Lines.moved.ends_line": TEXT,
    "checks/training/statement_moves.py::_Lines.moved": TEXT,
    "checks/training/optimizers.py::StaticOptimizer._safe": QNAMES,
    "checks/precision/precision.py::StaticMasters.low_precision": QNAMES,
    "checks/launch/process.py::StaticProcess._nccl": VALUES,
    "checks/shared/objects.py::Objects.top": PATHS,
    "checks/initialisation/device_placement.py::StaticOffload.without_cpu_backend": VALUES,
    "checks/precision/scalers.py::StaticScaler.of_fsdp1": QNAMES,
    "checks/ranks/data_sources.py::origin_known": QNAMES,
    "checks/ranks/data_sources.py::_code_differs": QNAMES,
    "checks/ranks/data_sources.py::_same": QNAMES,
    "checks/initialisation/initial_weights.py::fills_tensors": UNKNOWN,
    "checks/checkpoints/state_helpers.py::_is_loss": QNAMES,
    "checks/shared/structure.py::of_torch": QNAMES,
    "checks/shared/structure.py::owns_parameters": QNAMES,
    "checks/shared/structure.py::perhaps_experts": UNKNOWN,
    "checks/shared/structure.py::from_a_library": QNAMES,
    "checks/sharding/units.py::StaticUnit.inside": PATHS,
    "checks/sharding/units.py::_only_traits": PATHS,
    "checks/migration/imports.py::imported_events": QNAMES,
    "checks/migration/imports.py::_public_path": TEXT,
    "interpreter/expressions/enums.py::_own_value": PYTHON,
    "interpreter/expressions/enums.py::members": PYTHON,
    "interpreter/expressions/asked_names.py::_completed": COMPUTED,
    "interpreter/expressions/asked_names.py::modules": QNAMES,
    "interpreter/calls/classes.py::Classes.looked_up_by_class": PYTHON,
    "interpreter/calls/construction.py::Construction.call_super": PYTHON,
    "interpreter/expressions/conditions.py::Conditions.truth": QNAMES,
    "interpreter/expressions/conditions.py::Conditions.equal": VALUES,
    "interpreter/expressions/conditions.py::Conditions.contained": PATHS,
    "interpreter/expressions/texts.py::Texts.is_setting": UNKNOWN,
    "interpreter/expressions/names.py::Names.star_or_builtin": QNAMES,
    "interpreter/syntax.py::class_body": PYTHON,
    "interpreter/syntax.py::setters": PYTHON,
    "libraries/pretrained.py::embeddings": QNAMES,
    "libraries/pretrained.py::_of_diffusers": QNAMES,
    "frontend/lookup.py::Lookup._listing": FILES,
    "frontend/lookup.py::Lookup._look_up": FILES,
    "frontend/packages.py::rows": TEXT,
    "frontend/packages.py::is_class": QNAMES,
    "frontend/pins.py::oldest_torch": FILES,
    "libraries/torch/precision/dtypes.py::loaded_in": QNAMES,
    "frontend/module.py::parse": TEXT,
    "domain/relations.py::_part": PATHS,
    "domain/relations.py::_below": PATHS,
    "domain/relations.py::_is_index": PATHS,
    "frontend/relevance.py::_is_telling": QNAMES,
    "seen.py::functions": WORDS,
    "frontend/torch_api.py::varying_methods": QNAMES,
    "libraries/adapters.py::inner_of": QNAMES,
    "libraries/python/patterns.py::_cheap": PYTHON,
    "libraries/python/arguments.py::parser_method": VALUES,
    "libraries/torch/initialisation/blank.py::made_by_library": QNAMES,
    "libraries/torch/initialisation/blank.py::handed": QNAMES,
    "libraries/torch/initialisation/blank.py::_may_be_a_part": QNAMES,
    "libraries/torch/initialisation/blank.py::method_called": QNAMES,
    "libraries/torch/initialisation/blank.py::_is_layer": QNAMES,
    "libraries/python/builtins.py::chain": QNAMES,
    "libraries/python/builtins.py::pick": QNAMES,
    "libraries/torch/ranks/collectives.py::collective": QNAMES,
    "libraries/torch/sharding/composition.py::_asks_for_gradient": METHODS,
    "libraries/torch/launch/device.py::device_kind": VALUES,
    "libraries/torch/training/dtensors.py::tensor_method": WORDS,
    "libraries/torch/training/dtensors.py::_whole": METHODS,
    "libraries/torch/training/dtensors.py::value_read": WORDS,
    "libraries/torch/precision/dtypes.py::_is_tensor": QNAMES,
    "libraries/torch/precision/dtypes.py::literal_dtype": VALUES,
    "libraries/escapes.py::_leads_to_parameters": PATHS,
    "frontend/writes.py::": PYTHON,
    "libraries/words.py::describe": PATHS,
    "libraries/words.py::_origin": WORDS,
    "libraries/frameworks.py::framework_of": QNAMES,
    "libraries/torch/migration/fsdp1_methods.py::looked_up": QNAMES,
    "libraries/asked.py::Asked.surely_lacks": QNAMES,
    "libraries/asked.py::Asked.isinstance_formula": QNAMES,
    "libraries/asked.py::_is_class": QNAMES,
    "libraries/torch/launch/meshes.py::written": QNAMES,
    "libraries/torch/launch/meshes.py::wanted_names": PATHS,
    "libraries/torch/migration/migration.py::_class_names": VALUES,
    "libraries/calls.py::Calls.call_external": QNAMES,
    "libraries/calls.py::Calls.call_other": QNAMES,
    "libraries/python/arguments.py::is_parser": QNAMES,
    "libraries/torch/sharding/module_tree.py::is_model_base": QNAMES,
    "libraries/torch/sharding/module_tree.py::was_loaded_by_library": QNAMES,
    "libraries/torch/sharding/module_tree.py::external_is_module": QNAMES,
    "libraries/torch/sharding/module_tree.py::lacks_reset": QNAMES,
    "libraries/torch/sharding/module_tree.py::_has_seen_parts": QNAMES,
    "libraries/torch/sharding/modules.py::parameters": METHODS,
    "libraries/torch/sharding/modules.py::_spelled": PATHS,
    "frontend/torch_api.py::canonical": QNAMES,
    "frontend/torch_api.py::is_torch": QNAMES,
    "libraries/objects.py::Objects.stored_item": PATHS,
    "libraries/torch/training/optim.py::_stateless": QNAMES,
    "libraries/torch/training/schedulers.py::begun": QNAMES,
    "libraries/torch/precision/precision.py::dtype_name": QNAMES,
    "libraries/torch/ranks/groups.py::splits": QNAMES,
    "libraries/torch/ranks/groups.py::_keeps_ranks": PATHS,
    "libraries/torch/ranks/own_sources.py::asked_file": VALUES,
    "libraries/torch/ranks/own_sources.py::made_by_call": QNAMES,
    "libraries/torch/ranks/rank.py::get_rank": QNAMES,
    "libraries/torch/ranks/rank.py::is_initialized": QNAMES,
    "libraries/asked.py::Asked.is_sharded_formula": QNAMES,
    "libraries/torch/sharding/module_tree.py::layer_base": QNAMES,
    "libraries/python/reflection.py::import_by_name": QNAMES,
    "libraries/python/reflection.py::_imported": QNAMES,
    "libraries/torch/initialisation/slices.py::method_called": METHODS,
    "libraries/torch/initialisation/slices.py::initialised": QNAMES,
    "libraries/torch/initialisation/slices.py::_lost": PATHS,
    "libraries/torch/checkpoints/state_dict.py::_numbered": QNAMES,
    "libraries/torch/checkpoints/state_dict.py::dcp": QNAMES,
    "libraries/torch/checkpoints/state_dict.py::tensor_method": METHODS,
    "libraries/torch/forward/uses.py::weight_of": QNAMES,
    "libraries/torch/forward/uses.py::_mixed": QNAMES,
    "libraries/python/value_methods.py::make_dict": QNAMES,
    "domain/values.py::is_each": PATHS,
    "checks/shared/fixes.py::_asks_nothing": TEXT,
    "checks/shared/fixes.py::_comments": TEXT,
    "checks/checkpoints/producers.py::state_helper": QNAMES,
}


def texts_tested(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(function, test) for each test of a text."""
    yield from _inside(tree, "")


def _inside(node: ast.AST, scope: str) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            yield from _inside(child, f"{scope}.{child.name}".strip("."))
            continue
        if _is_test(child):
            yield scope, ast.unparse(child)
        yield from _inside(child, scope)


def _is_test(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        return not isinstance(node.func.value, ast.Constant)
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return False
    right = node.comparators[0]
    if isinstance(right, ast.Call):
        return getattr(right.func, "attr", "") in ("lower", "as_string") or getattr(right.func, "id", "") in (
            "str",
            "repr",
        )
    return (getattr(right, "id", "") or getattr(right, "attr", "")) in _TEXTS


@cache
def found() -> dict[str, str]:
    tests = {}
    for path in sorted(STATIC.rglob("*.py")):
        for scope, text in texts_tested(ast.parse(path.read_text(encoding="utf-8"))):
            tests[f"{path.relative_to(STATIC).as_posix()}::{scope}"] = text
    return tests


def test_each_test_of_a_text_has_a_reason() -> None:
    unexplained = {place: text for place, text in found().items() if place not in ALLOWED}
    assert not unexplained, "ask for the type, the origin or the value, or answer unknown"


@pytest.mark.slow
def test_no_reason_is_left_over() -> None:
    assert set(ALLOWED) <= set(found())
    assert set(ALLOWED.values()) <= REASONS


@pytest.mark.parametrize(
    "line",
    [
        "any(part in name.lower() for part in TABLE)",
        "'sched' in call.callee",
        "name.startswith(('get', 'is_'))",
        "RANK.search(node.as_string())",
        "'log' in str(node)",
    ],
)
def test_a_part_of_a_name_is_noticed(line: str) -> None:
    tree = ast.parse(f"def decide(name, call, node):\n    return {line}\n")
    assert {scope for scope, _ in texts_tested(tree)} == {"decide"}


@pytest.mark.parametrize(
    "line", ["name in {'get', 'put'}", "'mesh' in call.kwargs", "qname == 'torch.save'", "'a b'.split()"]
)
def test_whole_names_are_no_spelling(line: str) -> None:
    tree = ast.parse(f"def decide(name, call, qname):\n    return {line}\n")
    assert not list(texts_tested(tree))
