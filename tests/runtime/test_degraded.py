"""A torch that lacks what is watched, and checks that break: the job goes on, and the report says what is missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.outcome import JobReport
from fsdp2_lint.runtime.launch.ranks import run_ranks
from tests.runtime.commands import GOOD, HEAD, STALE

pytestmark = pytest.mark.torchrun

HOOKS = ("sharding", "sharded", "first_forward", "backward_end", "gathering", "pre_backward", "post_backward")
SAVE = "model = shard(Net())\ntorch.save(model.state_dict(), 'model.pt')\n"


def watched(tmp_path: Path, program: str, breakage: str, *names: str) -> tuple[JobReport, str]:
    """The report of a program that runs under a tool to which something was done, and what it printed."""
    (tmp_path / "train.py").write_text(program + "print('done')\n")
    outcomes = run_ranks(_watched, 1, str(tmp_path), breakage, names, timeout=60)
    output = (tmp_path / "out.txt").read_text()
    assert [each.code for each in outcomes] == [0], output
    return read_job(tmp_path, registry.rules()), output


def _watched(folder: str, breakage: str, names: tuple[str, ...]) -> None:
    from fsdp2_lint.runtime.launch.program import Program
    from fsdp2_lint.runtime.launch.script import run_script
    from fsdp2_lint.runtime.session import Options

    os.chdir(folder)
    descriptor = os.open("out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.path.insert(0, "")
    BREAKAGES[breakage](names)
    raise SystemExit(run_script(Program("train.py"), Options(3), Path(folder), live=False))


def _without(names: tuple[str, ...]) -> None:
    """This torch has no such places."""
    from fsdp2_lint.runtime import adapter

    place = adapter.place
    adapter.place = lambda hook: None if hook in names else place(hook)  # type: ignore[assignment]
    adapter.missing = lambda: [(f"place of {name}", ("FSDP000",)) for name in names]  # type: ignore[assignment]


def _break_rule(names: tuple[str, ...]) -> None:
    """A clause raises in each of its handlers."""

    def handler(rule: Any, event: Any) -> Any:
        raise ZeroDivisionError("of the clause")

    for rule in registry.rules():
        if rule.code in names:
            type(rule).handlers = dict.fromkeys(rule.handlers, handler)


def _break_compare(names: tuple[str, ...]) -> None:
    def compare(self: Any, facts: Any) -> Any:
        raise ZeroDivisionError("of the comparison")

    for rule in registry.rules():
        if rule.code in names:
            type(rule).compare = compare  # type: ignore[method-assign]


def _break_hook(names: tuple[str, ...]) -> None:
    """What every hook calls to say where the user's code stands raises in one of their modules."""
    import importlib

    def here(*given: Any) -> Any:
        raise ZeroDivisionError("of the hook")

    for name in names:
        module = importlib.import_module(f"fsdp2_lint.runtime.monitors.{name}")
        assert hasattr(module, "here"), "what is broken has to be used"
        module.here = here


def _lack(names: tuple[str, ...]) -> None:
    """Objects of this torch have no such attributes."""
    from fsdp2_lint.runtime.adapter.places import Missing, Place

    is_in, read = Place.is_in, Place.read

    def lacks(place: Place) -> bool:
        return not set(names).isdisjoint(place.names)

    def read_or_miss(self: Place, owner: Any) -> Any:
        if lacks(self):
            raise Missing(self)
        return read(self, owner)

    Place.is_in = lambda self, owner: not lacks(self) and is_in(self, owner)  # type: ignore[method-assign]
    Place.read = read_or_miss  # type: ignore[method-assign]


BREAKAGES = {"lack": _lack, "without": _without, "rule": _break_rule, "compare": _break_compare, "hook": _break_hook}


# Places that are missing


@pytest.mark.parametrize("name", HOOKS)
def test_a_place_is_missing(tmp_path: Path, name: str) -> None:
    """A good program stays good, trains on, and the report says what was not checked."""
    report, output = watched(tmp_path, GOOD, "without", name)
    assert report.findings == [] and output == "done\n"
    assert f"not checked, since this torch has no place of {name}: FSDP000" in report.notes


@pytest.mark.parametrize(
    "name",
    [pytest.param(name) if name == "sharding" else name for name in HOOKS],
)
def test_a_missing_place_breaks_no_check(tmp_path: Path, name: str) -> None:
    """Missing is not broken: nobody is asked to report it."""
    report, _ = watched(tmp_path, GOOD, "without", name)
    assert [note for note in report.notes if "broke down" in note] == []


@pytest.mark.slow
def test_sharding_is_not_denied(tmp_path: Path) -> None:
    """'No fully_shard was seen' would be a lie where nobody could look."""
    report, _ = watched(tmp_path, GOOD, "without", "sharding")
    assert report.exit_code != 3


@pytest.mark.parametrize("names", [HOOKS, *((name,) for name in HOOKS)], ids=lambda names: "-".join(names))
def test_public_checks_still_run(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Saving shards with torch.save is seen with public names alone."""
    report, _ = watched(tmp_path, HEAD + SAVE, "without", *names)
    assert "FSDP701" in {each.code for each in report.findings}, report.notes


@pytest.mark.slow
@pytest.mark.parametrize("names", [("gathering", "pre_backward", "post_backward", "backward_end"), ("sharded",)])
def test_other_checks_still_run(tmp_path: Path, names: tuple[str, ...]) -> None:
    report, _ = watched(tmp_path, STALE, "without", *names)
    assert "FSDP601" in {each.code for each in report.findings}, report.notes


# Private attributes that are missing

PLACES = (
    *("_training_state", "_is_root", "_sharded_state", "mp_policy", "mesh_info", "_unsharded_param"),
    *("_fsdp_param_groups", "_modules", "_state_ctx", "iter_forward_root", "fsdp_params", "_reshard_after_forward"),
    *("reshard_after_backward", "reduce_grads", "_all_gather_result", "offload_policy", "mesh", "shard_mesh_dim"),
    *("replicate_mesh_dim", "_module_info", "sharded_param", "_orig_size", "unsharded_accumulated_grad"),
    *("all_gather_outputs", "fsdp_placement", "_sharding_spec"),
)


@pytest.mark.parametrize("name", PLACES)
def test_a_private_attribute_is_missing(tmp_path: Path, name: str) -> None:
    """It is said once for each owner, nothing is found in a good program, and no clause that needs it is upheld."""
    report, output = watched(tmp_path, GOOD, "lack", name)
    assert report.findings == [] and output == "done\n"
    assert [note for note in report.notes if "broke down" in note] == []
    said = [note for note in report.notes if note.split(":")[0].endswith(f".{_oldest(name)}")]
    codes = {code for note in said for code in note.split(": ")[1].split(", ")}
    assert codes and len(said) == len(set(said))
    assert [each.code for each in report.verdicts if each.code in codes and each.word == "upheld"] == []


def _oldest(name: str) -> str:
    """The report says what a place was first called."""
    return {"_fsdp_param_groups": "_fsdp_param_group"}.get(name, name)


def test_nothing_is_missing(tmp_path: Path) -> None:
    """Of the torch that the tests run with."""
    report, _ = watched(tmp_path, GOOD, "lack")
    assert report.notes == []


# Checks that break


def test_a_clause_breaks(tmp_path: Path) -> None:
    """It costs itself only: other findings are there, and the job is unharmed."""
    report, output = watched(tmp_path, STALE, "rule", "FSDP301", "FSDP304")
    assert [each.code for each in report.findings] == ["FSDP601"] and output == "done\n"
    broken = [note for note in report.notes if "broke down" in note]
    assert broken == [
        f"a check broke down in {code}: ZeroDivisionError: of the clause (please report it)"
        for code in ("FSDP301", "FSDP304")
        if f"in {code}:" in "".join(broken)
    ]
    assert broken


@pytest.mark.slow
def test_a_clause_that_broke_is_not_upheld(tmp_path: Path) -> None:
    report, _ = watched(tmp_path, GOOD, "rule", "FSDP601")
    assert {each.word for each in report.verdicts if each.code == "FSDP601"} == {"unknown"}


@pytest.mark.parametrize(
    "name", ["sharding.sharding", "forward.forward", "training.optimizers", "checkpoints.checkpoints", "launch.process"]
)
def test_a_hook_breaks(tmp_path: Path, name: str) -> None:
    report, output = watched(tmp_path, GOOD + "torch.save(model.state_dict(), 'model.pt')\n", "hook", name)
    assert output == "done\n"
    assert any("ZeroDivisionError: of the hook (please report it)" in note for note in report.notes), report.notes


@pytest.mark.slow
def test_a_hook_breaks_again_and_again(tmp_path: Path) -> None:
    """The report does not grow with every step."""
    program = GOOD.replace("lr=0.1)", "lr=0.1), 30")
    watched(tmp_path, program, "hook", "forward.forward")
    assert (tmp_path / "rank0.jsonl").read_text().count('"record":"defect"') <= 20


@pytest.mark.slow
def test_debugging_shows_the_defect(tmp_path: Path) -> None:
    program = "import os\nos.environ['FSDP2_LINT_DEBUG'] = '1'\n" + GOOD
    _, output = watched(tmp_path, program, "hook", "training.optimizers")
    assert "ZeroDivisionError: of the hook" in output and output.endswith("done\n")


@pytest.mark.slow
def test_a_comparison_breaks(tmp_path: Path) -> None:
    """Before the first forward, on two ranks with other plans: the job goes on to where torch fails."""
    (tmp_path / "train.py").write_text(GOOD.replace("shard(Net())", "shard(Net()) if rank else fully_shard(Net())"))
    outcomes = run_ranks(_watched, 2, str(tmp_path), "compare", ("FSDP316",), timeout=60)
    assert len(outcomes) == 2
    defects = [text for rank in range(2) for text in (tmp_path / f"rank{rank}.jsonl").read_text().splitlines()]
    assert [text for text in defects if '"record":"defect"' in text]
