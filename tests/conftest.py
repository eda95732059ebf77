"""What every test gets: an environment that does not depend on who runs it."""

from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import NoReturn

import pytest
from astroid import nodes
from hypothesis import settings

settings.register_profile("steps", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("steps")

# Where nothing compiled may be written, each of some hundred processes would compile the package for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

SCRUBBED = ("CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FSDP2_LINT_DEBUG")

HERE = Path(__file__).parent
LONG = ("preflight", "runtime", "whole", "locks", "servers")  # folders whose files take longest
JOBS = 1  # case of a test that starts jobs, each of which is some processes and seconds
MANY = 24  # cases of any other test: who waits for the suite needs to know that it holds, and the slow step that all do


def pytest_configure(config: pytest.Config) -> None:
    """Several processes take files as they are collected: else those with few tests, the longest, come last."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    gc.disable()
    nodes.NodeNG.infer = _infers


def _infers(node: nodes.NodeNG, *args: object, **kwargs: object) -> NoReturn:
    """This tool has its own interpreter; astroid's would read whatever the environment has under a name."""
    raise AssertionError(f"astroid is asked to infer {node!r}")


def pytest_collection_finish() -> None:
    """What was collected, a million objects, stays for the whole run: no test waits until all of it is looked at."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before what is slow is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not any(item.get_closest_marker(mark) for mark in ("slow", "exhaustive")):
            cases[item.nodeid.partition("[")[0]].append(item)
    for alike in cases.values():
        _leave_to_slow(alike)
    items.sort(key=lambda item: item.path.relative_to(HERE).parts[0] not in LONG if HERE in item.path.parents else True)


def _leave_to_slow(cases: list[pytest.Item]) -> None:
    """By default so many cases of a test run as its marker says, spread over its list; else 24, and of jobs one."""
    marker = cases[0].get_closest_marker("quick")
    number = min(len(cases), marker.args[0] if marker else JOBS if cases[0].get_closest_marker("torchrun") else MANY)
    shown = {round(at * (len(cases) - 1) / max(1, number - 1)) for at in range(number)}
    for at, case in enumerate(cases):
        if at not in shown:
            case.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SCRUBBED:
        monkeypatch.delenv(name, raising=False)
