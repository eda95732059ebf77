"""SARIF, checked against the schema of the standard. Where that is from says the README of this folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from jsonschema import Draft4Validator

from fsdp2_lint import __version__
from fsdp2_lint.catalogue import registry
from fsdp2_lint.files.source import Sources
from fsdp2_lint.output import render
from fsdp2_lint.vocab.finding import Edit, Finding, Fix, Observed, Severity
from tests import fake
from tests.output.conftest import any_findings

SCHEMA = Draft4Validator(json.loads((Path(__file__).parent / "sarif-2.1.0.schema.json").read_text(encoding="utf-8")))
LINK = re.compile(r"(?<!\\)\[(?:\\.|[^\\\[\]])*\]\((\d+)\)")


def sarif(*findings: Finding) -> dict[str, Any]:
    """The only run of a document that the standard accepts."""
    document = json.loads(render("sarif", findings, Sources()))
    SCHEMA.validate(document)
    (run,) = document["runs"]
    return run


def result(finding: Finding) -> dict[str, Any]:
    (one,) = sarif(finding)["results"]
    return one


def place(path: str, *region: int) -> dict[str, Any]:
    keys = ("startLine", "startColumn", "endLine", "endColumn")
    return {"artifactLocation": {"uri": path, "uriBaseId": "%SRCROOT%"}, "region": dict(zip(keys, region))}


def test_a_story(story: Finding, tmp_path: Path) -> None:
    run = sarif(replace(story, fingerprint="f00d"))
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"{tmp_path.as_uri()}/"}}
    assert run["columnKind"] == "unicodeCodePoints"
    primary = {"physicalLocation": place("train.py", 4, 17, 4, 42), "message": {"text": "built here"}}
    first = {"physicalLocation": place("pkg/parallel.py", 2, 5, 3, 6), "message": {"text": "replaces them"}}
    second = {
        "physicalLocation": {
            "artifactLocation": {"uri": "file:///elsewhere/lib.py"},
            "region": {"startLine": 7, "startColumn": 1},
        },
        "message": {"text": "called here"},
    }
    assert run["results"] == [
        {
            "ruleId": "FSDP601",
            "ruleIndex": 0,
            "level": "error",
            "message": {
                "text": "the optimizer holds parameters that fully_shard replaces. See [pkg/parallel.py:2](1) replaces"
                " them, [/elsewhere/lib.py:7](2) called here. Help: build it after the last fully_shard."
            },
            "locations": [primary],
            "relatedLocations": [{"id": 1, **first}, {"id": 2, **second}],
            "codeFlows": [
                {
                    "threadFlows": [
                        {
                            "locations": [
                                {"location": each, "importance": "essential"} for each in (first, second, primary)
                            ]
                        }
                    ]
                }
            ],
            "partialFingerprints": {"fsdp2Lint/v1": "f00d"},
        }
    ]


def test_the_tool_and_its_rules(story: Finding, mended: Finding) -> None:
    run = sarif(story, mended, story)
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"], driver["semanticVersion"]) == ("fsdp2-lint", __version__, __version__)
    assert [(each["ruleId"], each["ruleIndex"]) for each in run["results"]] == [
        ("FSDP601", 0),
        ("FSDP901", 1),
        ("FSDP601", 0),
    ]
    rule, other = driver["rules"]
    assert (rule["id"], other["id"]) == ("FSDP601", "FSDP901")
    page = registry.page(registry.rule("FSDP601"))
    assert rule["help"]["markdown"].startswith("# FSDP601: optimizer-before-sharding\n")
    assert rule["help"]["markdown"] in page and "## Examples" not in rule["help"]["markdown"]
    assert rule.pop("help")["text"].startswith("Build the optimizer after the last `fully_shard` call. ")
    assert rule == {
        "id": "FSDP601",
        "name": "optimizer-before-sharding",
        "shortDescription": {"text": "an optimizer is built before the last fully_shard that covers its parameters"},
        "fullDescription": {
            "text": "An optimizer, and every list of parameters that reaches one, must be built after the last"
            " `fully_shard` call that covers those parameters."
        },
        "helpUri": story.url,
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "problem.severity": "error",
            "tags": ["pytorch", "fsdp2", "optimizer and gradients"],
        },
    }


@pytest.mark.parametrize("code", ["FSDP000", "FSDP001", "FSDP999"])
def test_codes_without_a_clause(story: Finding, code: str) -> None:
    (rule,) = sarif(replace(story, code=code, name="a-name", severity=Severity.INFO))["tool"]["driver"]["rules"]
    assert rule["shortDescription"] == {"text": "a-name"} and rule["defaultConfiguration"] == {"level": "note"}
    assert ("markdown" in rule["help"]) == (code != "FSDP999") and rule["help"]["text"]


def test_every_clause_is_a_rule(story: Finding) -> None:
    run = sarif(*(replace(story, code=each.code, name=each.name) for each in registry.rules()))
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["help"]["text"] != story.help and len(rule["fullDescription"]["text"]) < 1024


def test_a_fix(mended: Finding, tmp_path: Path) -> None:
    assert mended.fix is not None
    text = "from torch.distributed.fsdp import fully_shard"
    change = {
        "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
        "replacements": [
            {
                "deletedRegion": {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 20},
                "insertedContent": {"text": text},
            }
        ],
    }
    (fix,) = result(mended)["fixes"]
    assert fix == {"description": {"text": mended.help}, "artifactChanges": [change]}
    (fix,) = result(replace(mended, fix=replace(mended.fix, safe=False)))["fixes"]
    assert fix["description"]["text"] != mended.help and fix["artifactChanges"] == [change]

    insertion = Edit(fake.site(tmp_path / "a.py", 2, 5, 2, 5), "x")
    (fix,) = result(replace(mended, fix=Fix((*mended.fix.edits, insertion))))["fixes"]
    assert len(fix["artifactChanges"]) == 2
    (replacement,) = fix["artifactChanges"][1]["replacements"]
    assert replacement["deletedRegion"] == {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 5}


def test_cells_have_no_columns_and_no_fix(mended: Finding) -> None:
    one = result(mended.with_sites(lambda site: replace(site, cell=3)))
    (location,) = one["locations"]
    assert location["physicalLocation"]["region"] == {"startLine": 1} and "fixes" not in one
    assert location["logicalLocations"] == [{"name": "cell 3"}]
    assert one["message"]["text"].startswith("train.py:cell 3:3:1: the optimizer holds ")


def test_links_of_odd_names(story: Finding, tmp_path: Path) -> None:
    odd = fake.finding(story.primary.site, (fake.site(tmp_path / "a [1]: é%\\.py", 2), "also"))
    one = result(odd)
    assert r"See [a \[1\]: é%\\.py:2](1) also." in one["message"]["text"]
    uri = one["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20%5B1%5D%3A%20%C3%A9%25%5C.py"


def test_what_a_job_saw(story: Finding) -> None:
    one = result(replace(story, observed=Observed((0, 1), 2, "layers.0"), standing="confirmed at run time"))
    assert ". Seen: ranks 0-1, step 2, layers.0. Seen: confirmed at run time. Help: " in one["message"]["text"]


def locations(part: Any) -> Iterator[dict[str, Any]]:
    """Each artifactLocation, however deep."""
    for each in part.values() if isinstance(part, dict) else part:
        if isinstance(each, dict) and "uri" in each:
            yield each
        elif isinstance(each, (dict, list)):
            yield from locations(each)


@pytest.mark.slow
@given(any_findings)
def test_any_finding_is_valid(found: list[Finding]) -> None:
    run = sarif(*found)
    assert len(run["results"]) == len(found)
    for finding, one in zip(found, run["results"]):
        ids = [each["id"] for each in one.get("relatedLocations", ())]
        assert ids == [*range(1, len(finding.related) + 1)]
        assert run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == finding.code
        if not LINK.search(finding.message + finding.help + "".join(label.message for label in finding.related)):
            assert [int(number) for number in LINK.findall(one["message"]["text"])] == ids
        (primary,) = one["locations"]
        uri = primary["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.isascii() and unquote(urlsplit(uri).path) == str(Path(finding.primary.site.path))
    assert all(re.fullmatch(r"[\w.~%/:!$&'()*+,;=@-]*", each["uri"], re.ASCII) for each in locations(run["results"]))
