"""The JSON Schema of the settings: up to date, as their table is, and at one with what the tool itself reads."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdp2_lint.catalogue import registry
from fsdp2_lint.catalogue.codes import OWN_CODES, named, selectable
from fsdp2_lint.errors import BadSetting
from fsdp2_lint.files.gitignore import _compiled
from fsdp2_lint.settings import Settings, _read
from fsdp2_lint.settings.keys import KEYS, LEVELS
from fsdp2_lint.settings.schema import schema
from fsdp2_lint.settings.table import markdown

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "fsdp2_lint" / "settings" / "schema.json"
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_committed_file_is_up_to_date() -> None:
    command = [sys.executable, "-m", "fsdp2_lint.settings.schema"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout == COMMITTED.read_text(encoding="utf-8"), f"{' '.join(command[1:])} > {COMMITTED}"
    assert printed.stderr == ""


def test_the_documentation_has_the_table_of_keys() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert f"## All keys\n\n{markdown()}\n\n" in text, "python -m fsdp2_lint.settings.table prints it"


def test_it_is_a_schema_and_every_key_is_described() -> None:
    made = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["additionalProperties"] is False and made["title"] and made["$id"].startswith("https://")
    assert all(each["description"].endswith(".") for each in made["properties"].values())


def test_each_key_has_its_field() -> None:
    names = [each.name.replace("_", "-") for each in fields(Settings) if each.name not in ("file", "stated")]
    assert names == [*KEYS] == [*schema()["properties"]]


def test_the_codes_are_those_of_the_clauses() -> None:
    codes = {code for code in selectable() if len(code) == len("FSDP000")}
    assert codes == {*OWN_CODES, *(rule.code for rule in registry.rules())}
    assert {"ALL", "FSDP", "FSDP6", "FSDP60"} < {*selectable()} and "FSD" not in selectable()


def accepted(table: dict[str, Any]) -> bool:
    """By both, or by neither."""
    by_schema = VALIDATOR.is_valid(table)
    try:
        _read(table, Path("fsdp2-lint.toml"))
    except BadSetting as error:
        assert not by_schema, f"only the schema accepts {table}: {error}"
        assert "\n" not in str(error)
        return False
    assert by_schema, f"only the reader accepts {table}: {next(VALIDATOR.iter_errors(table))}"
    return True


OTHER_CASE = (word.swapcase() for word in (*selectable(), *named()))
WORDS = st.sampled_from([*selectable(), *named(), *OTHER_CASE, *(name.replace("-", "_") for name in named())])
CODES = st.lists(WORDS, max_size=3)
TEXTS = st.lists(st.text(min_size=1, max_size=8), max_size=3)
PATTERNS = st.from_regex(
    r"!?(\./|/|\*\*/)?([a-z_*?\]]|\[[!^]?[a-z\]]([a-z-]|\[:digit:\])?\]){1,5}(/[a-z*.]{1,4})?/?", fullmatch=True
)
VALID: dict[str, st.SearchStrategy[Any]] = {
    "select": CODES,
    "extend-select": CODES,
    "ignore": CODES,
    "per-file-ignores": st.dictionaries(PATTERNS, CODES, max_size=3),
    "severity": st.dictionaries(WORDS, st.sampled_from(LEVELS), max_size=3),
    "exclude": st.lists(PATTERNS, max_size=3),
    "respect-gitignore": st.booleans(),
    "source-roots": TEXTS,
    "entry-points": st.lists(st.from_regex(r"([a-z]{1,3}/)?[a-z]{1,4}\.(ipynb|py(:[a-z]+)?)", fullmatch=True)),
    "rehearsals": st.lists(st.from_regex(r"(-m )?[a-z]{1,3}(\.py)?( --[a-z]{1,3}( '[a-z ]*')?)?", fullmatch=True)),
    "target-torch": st.from_regex(r"2\.([5-9]|1[0-5])(\.[0-9])?((a0)?\+[a-z]{1,4})?", fullmatch=True),
    "baseline": st.text(min_size=1, max_size=8),
    "zero2": st.booleans(),
}
# What TOML can hold, with texts that are nearly right.
SCALARS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.text(alphabet="FSDPALfsdp0169 \n", max_size=8),
    st.from_regex(r"0?2\.0?[0-9]{1,2}[.+a\n ]?[0-9]?", fullmatch=True),
    st.from_regex(r"[0-9٣ ]{1,4}[.,][0-9]{1,4}[.+a\n ]?[0-9]?", fullmatch=True),
    st.text(alphabet="a.py:/\\!#*[] \n", max_size=9),
    st.sampled_from([*selectable(), *LEVELS, "FSDP699", "fsdp601", "Error", "train.py:", "train.py:A.b", "src\\*"]),
)
ANY = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*selectable(), "a/*", "a\\b", "../a", "#", ""]) | st.text(max_size=4), inner)
    ),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(st.fixed_dictionaries({}, optional=VALID))
def test_both_accept_what_is_right(table: dict[str, Any]) -> None:
    assert accepted(table)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from([*KEYS]), ANY, max_size=3))
def test_both_judge_any_table_alike(table: dict[str, Any]) -> None:
    accepted(table)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.fixed_dictionaries({}, optional=VALID), st.text(max_size=10).filter(lambda key: key not in KEYS), ANY)
def test_neither_accepts_a_key_that_does_not_exist(table: dict[str, Any], key: str, value: Any) -> None:
    assert not accepted({**table, key: value})


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="[]!^:-\\a/#", max_size=8))
def test_a_pattern_that_is_accepted_is_one_of_gitignore(pattern: str) -> None:
    if accepted({"exclude": [pattern]}):
        (line,) = _read({"exclude": [pattern]}, Path("fsdp2-lint.toml")).exclude
        assert _compiled(line) is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("select", "FSDP6"),
        ("select", ["FSDP699"]),
        ("ignore", [" FSDP601"]),
        ("ignore", ["Naive Torch Save"]),
        ("ignore", ["F\u017fDP601"]),
        ("ignore", ["FSDP601,FSDP602"]),
        ("ignore", ["E501"]),
        ("ignore", [""]),
        ("severity", {"FSDP601": "fatal"}),
        ("severity", {"FSDP699": "error"}),
        ("per-file-ignores", {"a/*": "FSDP6"}),
        ("per-file-ignores", {"a\\*": ["FSDP6"]}),
        ("exclude", ["src\\legacy"]),
        ("per-file-ignores", {"[": ["FSDP6"]}),
        ("exclude", ["a[b"]),
        ("exclude", ["[!]"]),
        ("exclude", ["[[:alpa:]]"]),
        ("exclude", ["!"]),
        ("exclude", ["../other"]),
        ("respect-gitignore", "yes"),
        ("source-roots", [1]),
        ("entry-points", ["train:main"]),
        ("entry-points", ["train.py:Trainer.fit"]),
        ("rehearsals", ["--lr 1"]),
        ("rehearsals", ["train.py 'a"]),
        ("target-torch", 2.8),
        ("target-torch", "2"),
        ("target-torch", "2.4"),
        ("target-torch", "2.16"),
        ("target-torch", "2.05"),
        ("baseline", ""),
        ("zero2", 1),
    ],
)
def test_neither_accepts_what_would_have_no_effect(key: str, value: Any) -> None:
    assert not accepted({key: value})
