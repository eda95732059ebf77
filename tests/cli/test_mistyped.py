"""What is said of commands, options and codes that do not exist, and of what stands for several codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import fake
from tests.cli.conftest import Ran

Cli = Callable[..., Ran]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("FSDP3I7", "unknown code or name 'FSDP3I7'; did you mean FSDP317? (`fsdp2-lint explain ALL` lists all)"),
        ("optimizer_before_shardin", "; did you mean optimizer-before-sharding? ("),
        ("FSDP601 fsdp602", "'FSDP601 fsdp602' contains several codes: separate them by commas ("),
    ],
)
def test_what_is_meant_by_a_misspelt_code(cli: Cli, engine: fake.Engine, tree: Path, given: str, told: str) -> None:
    ran = cli("check", "--select", given)
    assert (ran.code, ran.out) == (2, "") and told in ran.err


@pytest.mark.parametrize(
    "name", ["Optimizer-Before-Sharding", "optimizer_before_sharding", "OPTIMIZER-BEFORE-SHARDING"]
)
def test_a_name_in_any_case(cli: Cli, tree: Path, name: str) -> None:
    shown = cli("check", "--show-settings", "--select", name).out
    assert 'select = ["FSDP601"]  # --select\n' in shown
    (tree / "fsdp2-lint.toml").write_text(f"ignore = ['{name}']\n[severity]\n{name} = 'info'\n")
    shown = cli("check", "--show-settings").out
    assert 'ignore = ["FSDP601"]' in shown and 'severity = { "FSDP601" = "info" }' in shown
    assert cli("explain", name).out.startswith("# FSDP601: optimizer-before-sharding\n")


@pytest.mark.parametrize(
    ("prefix", "number", "wanted"),
    [
        ("fsdp6", 20, "# FSDP6 is a prefix; the rules are:"),
        ("FSDP0", 2, "# FSDP0 is a prefix; the rules are:"),
        ("FSDP", 105, "# FSDP is a prefix; the rules are:"),
        ("all", 105, "# ALL stands for all rules:"),
    ],
)
def test_explain_lists_the_codes_of_a_prefix(cli: Cli, prefix: str, number: int, wanted: str) -> None:
    ran = cli("explain", prefix)
    title, _, *lines = ran.out.splitlines()
    assert ran.code == 0 and title == wanted
    assert len(lines) == number and lines == sorted(lines)
    assert all(line.startswith("- FSDP") for line in lines)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("chekc", "No such command 'chekc'; did you mean check?\n"),
        ("verfy", "No such command 'verfy'; did you mean verify?\n"),
        ("train.py", "No such command 'train.py'; did you mean `fsdp2-lint check train.py`?\n"),
        (".", "No such command '.'; did you mean `fsdp2-lint check .`?\n"),
        ("nothing", "No such command 'nothing'\n"),
    ],
)
def test_a_mistyped_command_is_answered_with_the_nearest(cli: Cli, typed: str, told: str) -> None:
    ran = cli(typed)
    assert (ran.code, ran.out) == (2, "") and ran.err.endswith(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "--selct", "FSDP6"], "No such option --selct; did you mean --select?\n"),
        (["run", "--nproc", "2", "train.py"], "No such option --nproc; did you mean --nproc-per-node?\n"),
        (["run", "-x", "train.py"], "No such option -x\n"),
        (["preflight", "--world-sze=8", "train.py"], "No such option --world-sze; did you mean --world-size?\n"),
        (["check", "--qqqqqqq"], "No such option --qqqqqqq\n"),
    ],
)
def test_a_mistyped_option_is_answered_with_the_nearest(cli: Cli, tree: Path, arguments: list[str], told: str) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "") and ran.err.endswith(f"Error: {told}")


def test_explain_names_the_nearest(cli: Cli, engine: fake.Engine) -> None:
    ran = cli("explain", "optimizer-before-shard")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean optimizer-before-sharding?" in ran.err
