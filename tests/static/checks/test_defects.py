"""Defects of torch: a program for each that meets it, in its versions only, and some that look like it and do not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static.check import check
from fsdp2_lint.static.result import Request
from fsdp2_lint.vocab import defects
from fsdp2_lint.vocab.defects import Defect
from fsdp2_lint.vocab.finding import Finding
from fsdp2_lint.vocab.rule import for_target
from fsdp2_lint.vocab.target import NEWEST, OLDEST, Version
from tests.pages.harness import programs

TABLE = {name: each for name, each in vars(defects).items() if isinstance(each, Defect)}
PAGE = Path(__file__).parents[3] / "rules" / "migration" / "known_defect_of_target.md"
BAD = [program.files for program in programs(PAGE.read_text(encoding="utf-8")) if not program.good]
VERSIONS = [(2, minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]


def found(files: Mapping[str, str], torch: Version) -> list[Finding]:
    rules = [rule for rule in for_target(registry.rules(), torch) if rule.code == "FSDP910"]
    overlay = {f"/program/{name}": text.encode() for name, text in files.items()}
    return check(Request(files=list(overlay), root="/program", overlay=overlay, rules=rules)).findings


@pytest.mark.parametrize("name", sorted(TABLE))
def test_each_is_met_by_a_program_of_the_page_in_its_versions_only(name: str) -> None:
    defect = TABLE[name]
    assert defect.behaviour.source.startswith("pytorch#") and defect.remedy
    for bound in (defect.behaviour.since, defect.behaviour.until):
        assert bound is None or OLDEST < bound <= NEWEST
    affected = [torch for torch in VERSIONS if defect.behaviour.of(torch)]
    assert affected and affected != VERSIONS
    met = [torch for torch in VERSIONS if any(_speaks_of(defect, torch, each) for each in BAD)]
    assert met == affected


def _speaks_of(defect: Defect, torch: Version, files: Mapping[str, str]) -> bool:
    return any(finding.message == defect.in_words(torch) for finding in found(files, torch))


def test_the_page_has_each_thread() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(defect.behaviour.source in text for defect in TABLE.values())


STAGES, HOOKS, DIVIDED, HALF = BAD


# The program, its torch, and what is edited: the text before, the text after.
LOOK_ALIKES = [
    pytest.param(STAGES, (2, 13), "param_dtype=torch.bfloat16, ", "", id="computed in float32"),
    pytest.param(STAGES, (2, 13), "model.layers.requires_grad_(False)", "model.layers[0].bias", id="never frozen"),
    pytest.param(STAGES, (2, 13), "model.layers.requires_grad_(True)", "model.train()", id="frozen for good"),
    pytest.param(
        STAGES, (2, 13), "    shard(model, mesh)\n",
        "    model.layers.requires_grad_(True)\n    shard(model, mesh)\n",
        id="unfrozen before the first forward",
    ),
    pytest.param(
        STAGES, (2, 13), "    model.layers.requires_grad_(False)\n",
        "    model.layers[0].requires_grad_(False)\n    model.layers[0].weight.requires_grad_(True)\n",
        id="a part of the group is trained",
    ),
    pytest.param(HOOKS, (2, 12), "CPUOffloadPolicy()", "CPUOffloadPolicy(False)", id="not pinned"),
    pytest.param(HOOKS, (2, 12), "CPUOffloadPolicy", "OffloadPolicy", id="not offloaded"),
    pytest.param(HOOKS, (2, 12), "post_accumulate_grad_hook", "hook", id="a hook on the gradient itself"),
    pytest.param(HOOKS, (2, 12), 'init_device_mesh("cuda"', 'init_device_mesh("cpu"', id="on CPUs"),
    pytest.param(DIVIDED, (2, 7), "(8.0)", "(4.0)", id="the ranks that share"),
    pytest.param(DIVIDED, (2, 7), "(2, 4)", "(1, 8)", id="one replica"),
    pytest.param(HALF, (2, 5), "reduce_dtype=torch.bfloat16", "reduce_dtype=torch.float32", id="in float32"),
    pytest.param(HALF, (2, 5), "model = Net()", "model = Net().bfloat16()", id="parameters in bf16"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "torch", "old", "new"), LOOK_ALIKES)
def test_what_looks_like_it(files: Mapping[str, str], torch: Version, old: str, new: str) -> None:
    assert found(files, torch)
    changed = {name: text.replace(old, new) for name, text in files.items()}
    assert changed != dict(files)
    assert found(changed, torch) == []
