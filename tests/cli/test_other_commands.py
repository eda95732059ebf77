"""`fsdp2-lint rules`, `explain`, `contract` and the group itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import fsdp2_lint
from fsdp2_lint.catalogue import registry
from fsdp2_lint.cli import COMMANDS
from fsdp2_lint.output.contract import Contract, render_text
from fsdp2_lint.vocab.finding import Label
from tests import fake
from tests.cli.conftest import Ran

Cli = Callable[..., Ran]


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"fsdp2-lint {fsdp2_lint.__version__} (torch 2.5 to 2.15)\n"


def test_unknown_command(cli: Cli) -> None:
    ran = cli("chekc")
    assert (ran.code, ran.out) == (2, "") and "No such command" in ran.err


def test_rules(cli: Cli, engine: fake.Engine) -> None:
    ran = cli("rules")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == (
        "FSDP601  error    SRP  optimizer-before-sharding  the optimizer is built too early"
    )
    told = json.loads(cli("rules", "--output-format", "json").out)
    assert (told["version"], told["tool_version"]) == (1, fsdp2_lint.__version__)
    listed = told["rules"]
    assert [each["code"] for each in listed] == ["FSDP601", "FSDP602", "FSDP907"]
    assert listed[0] == {
        "code": "FSDP601",
        "name": "optimizer-before-sharding",
        "severity": "error",
        "judged_by": "SRP",
        "invariant": "What must hold.",
        "summary": "the optimizer is built too early",
        "remediation": ["build it later", "Mend it."],
        "do_not": ["Do not wait."],
        "does_not_count": ["Another thing."],
        "url": "https://fsdp2-lint.github.io/fsdp2-lint/rules/optimizer-before-sharding/",
    }


def test_explain_by_code_and_by_name(cli: Cli) -> None:
    for rule in registry.rules():
        for wanted in (rule.code, rule.code.lower(), rule.name):
            ran = cli("explain", wanted)
            assert ran.code == 0 and ran.out.startswith(f"# {rule.code}: {rule.name}\n")


def test_explain_invalid_syntax(cli: Cli) -> None:
    assert cli("explain", "FSDP000").out.startswith("# FSDP000: invalid-syntax\n")


def verdicts(tree: Path) -> object:
    evidence = Label(fake.site(tree / "train.py", 4), "sharded here")
    return fake.model(
        "Net",
        fake.site(tree / "train.py", 2, 5),
        fake.rule("FSDP601", "violated", evidence, Label(fake.site(tree / "train.py", 3), "built here")),
        fake.rule("FSDP602", "upheld", evidence),
        fake.rule("FSDP907", "unknown", reasons=("the model comes from a library",), settled_by="runtime"),
    )


def test_contract_text(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.models = [verdicts(tree)]
    ran = cli("contract", ".")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "In five points",
        "  launch, device and ranks  not judged",
        "  sharding, bottom-up       unknown     1 unknown",
        "  model(x)                  not judged",
        "  optimizer and steps       violated    FSDP601; 1 upheld",
        "  checkpoints               not judged",
        "",
        "Net (train.py:2:5)",
        "  violated FSDP601 optimizer-before-sharding  train.py:4: sharded here",
        "                                              train.py:3: built here",
        "  upheld   FSDP602 optimizer-after-forward    train.py:4: sharded here",
        "  unknown  FSDP907 fsdp1-in-use               the model comes from a library",
        "                                              settled by: runtime",
        "",
        "What settles the unknown",
        "  runtime    fsdp2-lint run --check SCRIPT, then fsdp2-lint contract --confirm fsdp2-lint-report",
        "",
    ]


def test_the_contract_is_fitted_to_the_terminal() -> None:
    at = fake.site("/a.py", 1)
    reasons = ("the model comes from a library that was not followed, so nobody knows its parameters",)
    model = fake.model("Net", at, fake.rule("FSDP601", "unknown", reasons=reasons, settled_by="runtime"))
    names = {"FSDP601": "optimizer-before-sharding"}
    contract = Contract([model], [], [])  # type: ignore[list-item]
    wide, narrow = (render_text(contract, names, width=width).split("\n\n")[1] for width in (100, 80))
    assert wide.splitlines()[1:] == [
        "  unknown  FSDP601 optimizer-before-sharding  the model comes from a library that was not followed,",
        "                                              so nobody knows its parameters",
        "                                              settled by: runtime",
    ]
    assert narrow.splitlines()[1:] == [
        "  unknown  FSDP601 optimizer-before-sharding",
        "      the model comes from a library that was not followed, so nobody knows its",
        "      parameters",
        "      settled by: runtime",
    ]


def test_contract_json(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.models = [verdicts(tree)]
    ran = cli("contract", ".", "--output-format", "json", "--exit-zero")
    assert ran.code == 0
    told = json.loads(ran.out)
    assert [clause["code"] for clause in told["rules"]] == ["FSDP601", "FSDP602", "FSDP907"]
    assert (told["version"], told["target_torch"]) == (1, "2.15")
    (model,) = told["models"]
    assert model["model"] == "Net" and model["filename"] == str(tree / "train.py")
    assert [clause["verdict"] for clause in model["rules"]] == ["violated", "upheld", "unknown"]
    assert model["rules"][0]["evidence"][0]["location"] == {"row": 4, "column": 1}
    assert model["rules"][2] == {
        "code": "FSDP907",
        "name": "fsdp1-in-use",
        "verdict": "unknown",
        "evidence": [],
        "reasons": ["the model comes from a library"],
        "settled_by": "runtime",
    }


def test_what_is_violated_elsewhere_is_part_of_the_contract(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    """A save belongs to no model's verdicts; and a comment silences the finding, not the contract."""
    (tree / "train.py").write_text("save(model)  # noqa: FSDP602\nfully_shard(model)\n")
    engine.result.models = [verdicts(tree)]
    known = fake.finding(fake.site(tree / "train.py", 4), label="sharded here")
    other = fake.finding(fake.site(tree / "train.py", 1), code="FSDP602", name="optimizer-after-forward")
    engine.result.findings = [known, other]
    ran = cli("contract", ".")
    assert ran.code == 1
    assert ran.out.partition("\n\nWhat settles")[0].splitlines()[-2:] == [
        "Elsewhere in the program",
        "  violated FSDP602 optimizer-after-forward  train.py:1: built here",
    ]
    told = json.loads(cli("contract", ".", "--output-format", "json").out)
    assert [(each["code"], each["verdict"]) for each in told["elsewhere"]] == [("FSDP602", "violated")]


def test_contract_of_programs(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    """What belongs to no model stands under its program; the last lines say how far each was followed."""
    at = fake.site(tree / "train.py", 4)
    engine.result.models = [fake.model("Net", at, fake.rule("FSDP602", "upheld", Label(at, "sharded here")))]
    unknown = fake.rule("FSDP601", "unknown", reasons=("the data was not seen",))
    calls = tuple(f"part{number}()" for number in range(7))
    engine.result.followed = [
        fake.program(tree / "train.py", unknown, unfollowed=calls, ended=False),
        fake.program(tree / "plain.py"),
    ]
    ran = cli("contract", ".")
    assert ran.code == 0
    assert ran.out.splitlines()[-7:] == [
        "train.py (the script train.py)",
        "  unknown  FSDP601 optimizer-before-sharding  the data was not seen",
        "",
        "What was followed",
        "  train.py not to its end; not into part0(), part1(), part2(), part3(), part4(), and 2 more",
        "  plain.py to its end",
        "",
    ]
    told = json.loads(cli("contract", ".", "--output-format", "json").out)
    assert told["points"][3] == {"point": "optimizer and steps", "verdict": "unknown", "why": "1 unknown, 1 upheld"}
    whole = told["programs"][0]
    assert (whole["kind"], whole["followed_to_its_end"], len(whole["not_followed"])) == ("script", False, 7)
    assert [(each["code"], each["verdict"]) for each in whole["rules"]] == [("FSDP601", "unknown")]


def test_a_violation_that_a_program_tells_stands_there_once(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    at = fake.site(tree / "train.py", 1)
    engine.result.findings = [fake.finding(at)]
    engine.result.followed = [
        fake.program(tree / "train.py", fake.rule("FSDP601", "violated", Label(at, "built here")))
    ]
    ran = cli("contract", ".")
    assert ran.code == 1 and "Elsewhere" not in ran.out
    assert ran.out.count("violated FSDP601") == 1


@pytest.mark.parametrize("rule", [each.code for each in registry.rules()])
def test_explain_is_about_a_screen_unless_examples_are_asked_for(cli: Cli, rule: str) -> None:
    short, whole = cli("explain", rule).out, cli("explain", rule, "--examples").out
    assert whole == registry.page(registry.rule(rule)).rstrip("\n") + "\n"
    headings = [line for line in short.splitlines() if line.startswith("## ")]
    assert headings == ["## Why it matters", "## How to fix", "## Wrong fixes", "## What does not count"]
    *said, last = short.splitlines()
    assert last.endswith(f"fsdp2-lint explain {rule} --examples")
    lines = 100 if rule == "FSDP907" else 60  # whose fix is a table with a row for each argument of FSDP1
    assert len(said) < lines and {*said} < {*whole.splitlines()}, "nothing is said anew"


def test_a_report_that_is_not_there_and_a_code_that_is_not(cli: Cli, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert cli("report", gone).err == f"error: {gone}: cannot be read: No such file or directory\n"
    ran = cli("report", gone, "--select", "optimizer-before-shardin")
    assert ran.code == 2 and "did you mean optimizer-before-sharding?" in ran.err
    assert cli("report", gone, "--select", "optimizer-before-sharding").err.startswith(f"error: {gone}: ")


def test_what_has_no_examples_is_explained_as_a_whole(cli: Cli) -> None:
    short = cli("explain", "FSDP001").out
    assert "## How to fix" in short and "--examples" not in short


def test_the_help_cuts_no_summary_off(cli: Cli) -> None:
    listed = cli("--help").out.partition("Commands:\n")[2]
    assert len(listed.splitlines()) == len(COMMANDS) and "..." not in listed


def test_contract_without_a_model_says_so(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    ran = cli("contract", ".")
    assert (ran.code, ran.out, ran.err) == (0, "", "No model was judged in 2 files, 1 with FSDP2.\n")
    assert cli("contract", "-q").err == "warning: No model was judged in 2 files, 1 with FSDP2.\n"


def test_contract_of_nothing_says_what_a_check_says(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    (tree / "fsdp2-lint.toml").write_text('exclude = ["*"]\n')
    for arguments in (["--isolated", "--select", ""], ["--isolated", "--ignore", "ALL"], []):
        said = cli("check", *arguments)
        ran = cli("contract", *arguments)
        assert (ran.code, ran.out, ran.err) == (0, "", said.err) and said.code == 0, arguments
        for command in ("check", "contract"):
            assert cli(command, "-q", *arguments).err == f"warning: {said.err}"
    engine.result.broken = [("train.py", "ValueError: odd")]
    assert cli("contract", "--isolated").code == 2


def test_contract_of_a_project_without_fsdp2_is_no_failure(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    (tree / "train.py").write_text(
        "from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel\n"
    )
    for arguments in ([], ["train.py"], ["--select", "ALL"], ["--select", "ALL", "train.py"]):
        ran = cli("contract", *arguments)
        files = "1 file" if "train.py" in arguments else "2 files"
        assert (ran.code, ran.out) == (0, ""), arguments
        assert ran.err == f"No model was judged in {files}, none with FSDP2.\n"
    assert json.loads(cli("contract", "--output-format", "json").out)["models"] == []
    assert cli("contract", ".", "missing.py").code == 2


def test_contract_names_a_line_once(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    evidence = [Label(fake.site(tree / "train.py", 4, column), "sharded here") for column in (1, 9, 17, 25)]
    engine.result.models = [
        fake.model("Net", fake.site(tree / "train.py", 2), fake.rule("FSDP602", "upheld", *evidence))
    ]
    assert "  upheld   FSDP602 optimizer-after-forward  train.py:4: sharded here\n" in cli("contract", ".").out


def test_contract_tells_of_a_file_that_cannot_be_parsed(cli: Cli, tree: Path) -> None:
    """Less was seen than was asked for, as where a file cannot be read."""
    (tree / "helper.py").write_text("from torch.distributed.fsdp import fully_shard\ndef shard(model):\n    pass\n")
    (tree / "train.py").write_text("from helper import shard\nmesh = setup(\n")
    said = "train.py:2: cannot be parsed: syntax error: '(' was never closed"
    for arguments in ([], ["train.py"], ["--exit-zero"], ["--select", "FSDP000"]):
        ran = cli("contract", *arguments)
        assert (ran.code, ran.err) == (2, f"error: {said}\n"), arguments
    assert json.loads(cli("contract", "--output-format", "json").out)["errors"] == [said]
    (tree / "train.py").write_text("from helper import shard\n")
    assert cli("contract", "--select", "FSDP000").err == "No model was judged in 3 files, 1 with FSDP2.\n"


def test_contract_leaves_out_models_of_files_that_were_not_given(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.models = [fake.model("Other", fake.site(tree / "helper.py", 1))]
    assert cli("contract", "train.py").err == "No model was judged in 1 file, 1 with FSDP2.\n"
