"""What ``check --show-settings`` shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdp2_lint.settings import Settings, _read
from fsdp2_lint.settings.keys import LEVELS
from tests.cli.conftest import Ran

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Cli = Callable[..., Ran]


def test_settings_are_shown_with_where_they_were_read(cli: Cli, tree: Path) -> None:
    assert cli("check", "--show-settings").out.startswith("# no settings were found: these are the defaults\n")
    (tree / "pyproject.toml").write_text('[tool.fsdp2-lint]\nselect = ["FSDP6"]\n')
    assert cli("check", "--show-settings").out.startswith(
        f'# {tree / "pyproject.toml"}\nselect = ["FSDP6"]  # pyproject.toml\nextend-select = []  # the default\n'
    )
    alone = cli("check", "--show-settings", "--isolated").out
    assert alone.startswith("# no settings were read (--isolated): these are the defaults\n")
    assert 'select = ["FSDP6"]' not in alone
    ran = cli("check", "--show-settings", "missing.py")
    assert (ran.code, ran.out, ran.err) == (2, "", "error: missing.py: cannot be read: No such file or directory\n")


def test_the_options_of_a_run_are_shown_as_they_were_given(
    cli: Cli, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def last(*arguments: str) -> list[str]:
        return cli("check", "--show-settings", *arguments).out.partition("rehearsals = []")[2].splitlines()[1:]

    plain = last()
    monkeypatch.setenv("FSDP2_LINT_STEPS", "300")
    assert last() == [*plain, "# FSDP2_LINT_STEPS=300"]
    assert last("--budget", "500", "--jobs", "2", "--cache-dir", "kept") == [
        *plain,
        "# --budget 500",
        "# --jobs 2",
        "# --cache-dir kept",
    ]
    assert last("--budget", "7", "--cache-dir", "kept", "--no-cache")[-2:] == ["# --budget 7", "# --no-cache"]


def test_the_settings_that_are_shown_are_those_that_hold(cli: Cli, tree: Path) -> None:
    def shown(*arguments: str) -> set[str]:
        return {*cli("check", "--show-settings", *arguments).out.splitlines()}

    default = 'select = ["FSDP"]  # the default'
    assert {default, 'target-torch = "2.15"  # the newest known', "# baseline is not set"} < shown()
    (tree / "requirements.txt").write_text("torch==2.13.0\n")
    assert 'target-torch = "2.13"  # pinned by the project' in shown()
    assert 'target-torch = "2.9"  # the option --target-torch' in shown("--target-torch", "2.9")
    (tree / "pyproject.toml").write_text(
        '[tool.fsdp2-lint]\ntarget-torch = "2.8"\nextend-select = ["fsdp907"]\nignore = ["FSDP3"]\nbaseline = "a"\n'
    )
    assert {
        'target-torch = "2.8"  # the setting target-torch',
        'baseline = "a"  # pyproject.toml',
        'ignore = ["FSDP3"]  # pyproject.toml',
        "exclude = []  # the default",
        default,
    } < shown()
    more = shown("--extend-select", "naive-torch-save", "--ignore", "fsdp6", "--baseline", "b")
    assert {
        'extend-select = ["FSDP907", "FSDP701"]  # --extend-select',
        'ignore = ["FSDP3", "FSDP6"]  # --ignore',
    } < more
    assert 'baseline = "b"  # --baseline' in more
    instead = shown("--select", "", "--ignore", "FSDP6")
    assert {"select = []  # --select", "extend-select = []  # --select", 'ignore = ["FSDP6"]  # --ignore'} < instead
    (tree / "pyproject.toml").unlink()
    (tree / "requirements.txt").write_text("torch==9.1\n")
    assert 'target-torch = "2.15"  # in place of 9.1, which the project pins and is not known' in shown()


TEXTS = st.lists(st.text(alphabet='abé"\\\x7f\x01\n🔥 /', min_size=1, max_size=5), max_size=3).map(tuple)
CODES = st.lists(st.sampled_from(["FSDP", "FSDP6", "FSDP601", "ALL"]), max_size=2).map(tuple)


@settings(max_examples=50, deadline=None)
@given(
    st.builds(
        Settings,
        select=CODES,
        per_file_ignores=st.dictionaries(st.sampled_from(["a/*", "!é", "[ab]"]), CODES).map(lambda d: tuple(d.items())),
        severity=st.dictionaries(st.sampled_from(["FSDP6", "ALL"]), st.sampled_from(LEVELS)).map(
            lambda d: tuple(d.items())
        ),
        source_roots=TEXTS,
        respect_gitignore=st.booleans(),
        target_torch=st.none() | st.sampled_from([(2, 5), (2, 15)]),
        baseline=st.none() | st.text(alphabet='a"\\\x7f\n🔥', min_size=1, max_size=5),
    )
)
def test_what_is_shown_reads_as_the_same_settings(given_ones: Settings) -> None:
    from fsdp2_lint.cli.info import as_toml

    assert _read(tomllib.loads(as_toml(given_ones)), Path("fsdp2-lint.toml")) == given_ones
