"""What became of findings: nothing that only makes them disappear counts as a mend."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.verify import Comparison, compare
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Finding

EXAMPLE = Path(__file__).parents[2] / "examples" / "broken" / "optimizer_before_sharding"
EARLY = "    optimizer = build_optimizer(model, lr=1e-2)  # error: [FSDP601]\n"
SHARDED = "    parallelize(model, mesh)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "job")
    (tmp_path / "job" / "pyproject.toml").write_text("")
    return tmp_path / "job"


@pytest.fixture
def before(project: Path) -> list[Finding]:
    found = lint([str(project)]).findings
    assert [finding.code for finding in found] == ["FSDP601"]
    return found


def edit(file: Path, *pairs: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def compared(project: Path, before: Sequence[Finding], asked: Asked = Asked()) -> Comparison:
    return compare(before, [str(project)], asked, lint)


def counts(result: Comparison) -> dict[str, int]:
    names = ("fixed", "gone", "remaining", "silenced", "removed", "new")
    return {name: len(getattr(result, name)) for name in names if getattr(result, name)}


def test_nothing_done(project: Path, before: list[Finding]) -> None:
    result = compared(project, before)
    assert counts(result) == {"remaining": 1} and not result.clean


def test_mended(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", (EARLY, ""), (SHARDED, SHARDED + EARLY))
    result = compared(project, before)
    assert counts(result) == {"fixed": 1} and result.clean
    assert result.fixed[0].verdict == "upheld" and result.fixed[0].as_before


def test_moved_about(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", (EARLY, "\n\n" + EARLY.replace("optimizer =", "optimizer: object =")))
    assert counts(compared(project, before)) == {"remaining": 1}


def test_not_proved(project: Path, before: list[Finding]) -> None:
    """What builds the optimizer is out of sight: the fault may be there or not."""
    edit(project / "train.py", ("from optim import build_optimizer\n", "from elsewhere import build_optimizer\n"))
    assert "not followed, and not there before the edit: elsewhere.build_optimizer" in why(compared(project, before))


def test_a_reason_is_told_once_with_all_rules_that_it_hides(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", ("build_optimizer(model, lr=1e-2)", "eval('build_optimizer(model, lr=1e-2)')"))
    told = [each for each in why(compared(project, before)) if "Net is handed to eval()" in each]
    assert len(told) == 1 and told[0].count("which was not followed") == 1
    codes, _, rest = told[0].partition(" were upheld and are unknown now: Net is handed to eval() (")
    assert {"FSDP206", "FSDP302", "FSDP902"} < {*codes.split(", ")} and rest.endswith(":35), which was not followed")


def why(result: Comparison) -> list[str]:
    """The one finding is gone and less is seen: why."""
    assert counts(result) == {"gone": 1} and not result.clean and not result.gone[0].as_before
    return [*result.gone[0].reasons]


@pytest.mark.parametrize("call", ["build_optimizer(model, lr=1e-2)", "parallelize(model, mesh)", "Net()"])
def test_eval_mends_nothing(project: Path, before: list[Finding], call: str) -> None:
    edit(project / "train.py", (call, f"eval({call!r})"))
    result = compared(project, before)
    assert not result.clean and not result.fixed


def test_what_only_vars_names_is_not_seen(project: Path, before: list[Finding]) -> None:
    edit(
        project / "train.py",
        ("parallelize(model, mesh)", 'vars(__import__("parallelize"))["parallelize"](model, mesh)'),
    )
    result = compared(project, before)
    assert not result.clean and not result.fixed


def test_moved_out_of_the_project(project: Path, before: list[Finding], tmp_path: Path) -> None:
    (project / "parallelize.py").rename(tmp_path / "parallelize.py")
    result = compared(project, before)
    assert not result.clean and not result.fixed


def test_a_script_that_is_deleted_is_not_mended_by_another_that_is_right(project: Path) -> None:
    """Per model: that the rule is upheld for another one is no proof."""
    shutil.copy(project / "train.py", project / "other.py")
    edit(project / "other.py", (EARLY, ""), (SHARDED, SHARDED + EARLY))
    before = lint([str(project)]).findings
    assert [Path(finding.primary.site.path).name for finding in before] == ["train.py"]
    (project / "train.py").unlink()
    (reason,) = why(compared(project, before))
    assert reason.endswith("train.py) is not seen any more")


def test_the_other_model_of_the_same_name_is_no_proof(project: Path) -> None:
    """Two functions build a model each, and only the second one's optimizer is early."""
    file = project / "train.py"
    head, main, rest = file.read_text().partition("def main()")
    body, guard, _ = rest.partition("if __name__")
    right = body.replace(EARLY, "").replace(SHARDED, SHARDED + EARLY.partition("  #")[0] + "\n")
    end = f"{guard} == '__main__':\n    right()\n"
    file.write_text(f"{head}def right(){right}def wrong(){body}{end}    wrong()\n")
    before = lint([str(project)]).findings
    assert [(finding.code, finding.about[0].number, finding.about[0].of) for finding in before] == [("FSDP601", 2, 2)]
    file.write_text(f"{head}def right(){right}{end}")
    assert main and "Net (" in why(compared(project, before))[0]


def test_another_torch_that_is_stated_is_no_mend(project: Path) -> None:
    edit(project / "train.py", (EARLY, ""), (SHARDED, SHARDED + EARLY))
    edit(project / "parallelize.py", ("import fully_shard", "import fully_shard, share_comm_ctx"))
    asked = Asked(target=(2, 8))
    before = lint([str(project)], asked).findings
    assert [finding.code for finding in before] == ["FSDP906"]
    assert counts(compared(project, before, Asked(target=(2, 15)))) == {"silenced": 1}
    (project / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.15.0"]\n')
    assert compared(project, before).clean, "what the program depends on is its own"


def test_unknown_before_and_after_for_the_same_reason(project: Path) -> None:
    """What was handed to code that is not seen stays so, on another line: nothing is proved, and no less is seen."""
    edit(project / "train.py", (EARLY, f"    import outside\n    outside.touch(model)\n{EARLY}"))
    before = lint([str(project)]).findings
    assert [finding.code for finding in before] == ["FSDP601"]
    edit(project / "train.py", (EARLY, "\n\n"), (SHARDED, SHARDED + EARLY))
    result = compared(project, before)
    assert result.clean, [each.reasons for each in result.gone]


def test_a_file_without_what_was_seen_proves_nothing(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", (EARLY, ""), (SHARDED, SHARDED + EARLY))
    old = [replace(finding, about=()) for finding in before]
    (reason,) = why(compared(project, old))
    assert "an older version wrote it" in reason


def test_syntax_is_mended_by_the_file_itself(project: Path) -> None:
    file = project / "optim.py"
    text = file.read_text()
    file.write_text(text + "def\n")
    before = [finding for finding in lint([str(project), str(file)]).findings if finding.code == "FSDP000"]
    assert len(before) == 1
    file.unlink()
    assert not compared(project, before).clean
    file.write_text(text)
    assert counts(compared(project, before))["fixed"] == 1


@pytest.mark.parametrize(
    "comment",
    ["  # noqa", "  # noqa: FSDP601", "  # fsdp2-lint: ignore[FSDP601] it is meant"],
    ids=["all", "noqa", "own"],
)
def test_silenced_by_a_comment(project: Path, before: list[Finding], comment: str) -> None:
    edit(project / "train.py", ("  # error: [FSDP601]", comment))
    result = compared(project, before)
    assert counts(result) == {"silenced": 1} and not result.clean
    assert result.silenced[0].reasons == ("a comment silences it",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('ignore = ["FSDP601"]', "a setting or an option leaves it out"),
        ('select = ["FSDP8"]', "a setting or an option leaves it out"),
        ('exclude = ["train.py"]', "its file is not among those that were checked"),
        ('severity = { FSDP601 = "info" }', "a setting or an option leaves it out"),
        ('per-file-ignores = { "*.py" = ["FSDP6"] }', "per-file-ignores leaves it out"),
    ],
)
def test_silenced_by_a_setting(project: Path, before: list[Finding], text: str, why: str) -> None:
    (project / "fsdp2-lint.toml").write_text(text)
    result = compared(project, before)
    assert counts(result) == {"silenced": 1} and result.silenced[0].reasons == (why,)


def test_silenced_by_an_option(project: Path, before: list[Finding]) -> None:
    assert counts(compared(project, before, Asked(ignore=["FSDP6"]))) == {"silenced": 1}


def test_removed_with_the_sharding(project: Path, before: list[Finding]) -> None:
    edit(project / "parallelize.py", ("fully_shard(", "print("))
    result = compared(project, before)
    assert counts(result) == {"removed": 1} and not result.clean


def test_another_fault_is_new(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", (EARLY, ""), (SHARDED, SHARDED + EARLY), ("model(", "model.forward("))
    result = compared(project, before)
    assert {"fixed", "new"} == set(counts(result)) and result.new[0].code == "FSDP401" and not result.clean


SCRIPT = """\
import os
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(0)
model = nn.Linear(4, 4)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(2, 4, device="cuda")).sum().backward()
optimizer.step()
norm = torch.ones((), device="cuda")
if dist.get_rank() == 0:
    dist.all_reduce(norm)
{saves}
dist.destroy_process_group()
"""
GATHERED = """\
state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
if dist.get_rank() == 0:
    torch.save(state, "model.pt")"""
BY_DCP = 'dcp.save({"model": get_model_state_dict(model)}, checkpoint_id="model")'


def saving(project: Path, how: str) -> None:
    """A script with a rank-guarded collective, which ends with a save."""
    for file in project.glob("*.py"):
        file.unlink()
    (project / "train.py").write_text(SCRIPT.format(saves=how))


@pytest.mark.parametrize(("instead", "clean"), [(BY_DCP, True), ("", False), ("print(model)", False)])
def test_a_save_in_another_way_is_no_less_to_see(project: Path, instead: str, clean: bool) -> None:
    """What the rules of torch.save judged is gone. Rules of other saves judge what is there now, if it is a save."""
    saving(project, GATHERED)
    before = lint([str(project)]).findings
    assert [finding.code for finding in before] == ["FSDP801"]
    saving(project, instead)
    edit(project / "train.py", ("if dist.get_rank() == 0:\n    dist.all_reduce", "if True:\n    dist.all_reduce"))
    result = compared(project, before)
    assert result.clean == clean and counts(result) == ({"fixed": 1} if clean else {"gone": 1})
    if not clean:
        assert "FSDP701, FSDP702, FSDP711, FSDP714 were upheld and are not judged any more" in result.gone[0].reasons
