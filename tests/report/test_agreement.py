"""Every clause about the agreement of ranks: what it makes of the facts of several of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.vocab.facts import Fact
from fsdp2_lint.vocab.finding import Finding, Severity
from fsdp2_lint.vocab.rule import agree
from tests.report.ranks import fact, site

RULES = {rule.code: rule for rule in registry.rules() if rule.compares}
SHARDS = {"mesh": "shards", "loaded": "no"}
REPLICAS = {"mesh": "replicas", "loaded": "no"}
TURN = {"words": "barrier", "by": "barrier()", "size": "", "parted": ""}

Values = Mapping[str, str]


@dataclass(frozen=True)
class Case:
    """What two ranks say where they agree, and where they do not; where the finding is, and what it says."""

    kind: str
    agreeing: tuple[Values, Values]
    differing: tuple[Values, Values]
    row: int
    message: str
    traits: Mapping[str, str] | None = None


CASES = {
    "FSDP106": Case(
        "device",
        ({"device": "node GPU-0"}, {"device": "node GPU-1"}),
        ({"device": "node GPU-0"}, {"device": "node GPU-0"}),
        9,
        "ranks 0-1 work on one GPU (node GPU-0)",
    ),
    "FSDP203": Case(
        "starting-weights",
        ({"a": "x", "b": "y"}, {"a": "x", "b": "y"}),
        ({"a": "x", "b": "y"}, {"a": "x", "b": "z"}),
        21,
        "rank 0 and rank 1 start from different values of b: "
        "the model is put together from shards of different initialisations",
        SHARDS,
    ),
    "FSDP208": Case(
        "drawn-shards",
        ({"a": "x", "b": "y"}, {"a": "p", "b": "q"}),
        ({"a": "x", "b": "y"}, {"a": "p", "b": "y"}),
        21,
        "ranks 0-1 drew the same random numbers for b: its shards are bitwise equal",
    ),
    "FSDP315": Case(
        "outside-gradients",
        ({"a": "w g", "b": "w g"}, {"a": "w g", "b": "w g"}),
        ({"a": "w g", "b": "w g"}, {"a": "w g", "b": "w h"}),
        21,
        "the gradients of b differ between ranks: FSDP2 ignores it, and nobody reduces them",
    ),
    "FSDP316": Case(
        "plan",
        ({"the root Net": "a", "head": "b"}, {"head": "b", "the root Net": "a"}),
        ({"the root Net": "a", "head": "b"}, {"the root Net": "a", "head": "c"}),
        21,
        "head holds other parameters on rank 0 than on rank 1: their collectives do not match",
    ),
    "FSDP613": Case(
        "group-gradients",
        ({"a": "yes", "b": "no"}, {"a": "yes", "b": "no"}),
        ({"a": "yes", "b": "no"}, {"a": "yes", "b": "yes"}),
        9,
        "b has a gradient on rank 1 and none on rank 0: the ranks reduce different things",
    ),
    "FSDP405": Case(
        "forward-order",
        ({"0": "layers.0", "1": "layers.1"}, {"0": "layers.0", "1": "layers.1"}),
        ({"0": "layers.0", "1": "layers.1"}, {"0": "layers.0", "1": "layers.2"}),
        21,
        "the ranks run different sharded modules: rank 0 at layers.1, rank 1 at layers.2",
    ),
    "FSDP708": Case(
        "local-shard",
        ({"rows": "2", "other dimensions": "8"}, {"rows": "2", "other dimensions": "8"}),
        ({"rows": "2", "other dimensions": "8"}, {"rows": "1", "other dimensions": "8"}),
        9,
        "from_local takes every shard for as large as its own, and they differ along dimension 0: 2 on rank 0, 1 on "
        "rank 1; each rank has another shape for the whole",
        {"dimension": "0"},
    ),
    "FSDP801": Case(
        "turn",
        ({"issued": "a"}, {"issued": "a"}),
        ({"issued": "a"}, {"issued": "b"}),
        20,
        "barrier() needs every rank, but was reached by rank 0 only: the job hangs",
        TURN | {"parted": "guard"},
    ),
    "FSDP802": Case(
        "turn",
        ({"issued": "a"}, {"issued": "a"}),
        ({"issued": "a"}, {"issued": "b"}),
        9,
        "rank 0 issued barrier while rank 1 issued barrier: the job hangs or aborts",
        TURN,
    ),
    "FSDP803": Case(
        "stall",
        ({"state": "waits"}, {"state": "waits"}),
        ({"state": "away"}, {"state": "waits"}),
        9,
        "rank 0 did not arrive while rank 1 waited for more than 10 seconds in barrier()",
        {"by": "barrier()", "after": "10", "how": "", "inside": "yes"},
    ),
    "FSDP804": Case(
        "turn",
        ({"issued": "a"}, {"issued": "a"}),
        ({"issued": "a"}, {"issued": "b"}),
        20,
        "rank 0 runs another batch, and rank 1 has left the loop: the job hangs",
        TURN | {"parted": "batch"},
    ),
    "FSDP805": Case(
        "replicas",
        ({"a": "x", "b": "y"}, {"a": "x", "b": "y"}),
        ({"a": "x", "b": "y"}, {"a": "x", "b": "z"}),
        9,
        "b differs between rank 0 and rank 1 after this step: the replicas of an HSDP mesh train apart",
        {"what": "weights"},
    ),
    "FSDP616": Case(
        "divided",
        ({"weights": "p"}, {"weights": "p"}),
        ({"weights": "p"}, {"weights": "q"}),
        9,
        "the gradients of Expert are divided by 2, those of the rest by 4: ranks 0-1 hold different experts, "
        "and each gets tokens of all ranks",
        {"place": "0", "by": "2", "rest": "4", "label": "Expert"},
    ),
    "FSDP617": Case(
        "hyperparameters",
        ({"lr": "0.1", "betas": "x"}, {"lr": "0.1", "betas": "x"}),
        ({"lr": "0.1", "betas": "x"}, {"lr": "0.2", "betas": "x"}),
        20,
        "lr is 0.1 on rank 0 and 0.2 on rank 1, so they update their shards of a parameter differently",
    ),
    "FSDP620": Case(
        "no-gradient",
        ({"a": "ran"}, {"b": "ran"}),
        ({"a": "ran"}, {"a": "ran"}),
        9,
        "a of Net had no gradient in 3 steps, on any rank: its module ran, and no gradient came back",
        {"model": "Net", "steps": "3"},
    ),
    "FSDP712": Case(
        "saved-values",
        ({"rng": "p", "step": "q"}, {"rng": "p", "step": "q"}),
        ({"rng": "p", "step": "q"}, {"rng": "r", "step": "q"}),
        9,
        "'rng' differs between rank 0 and rank 1, and a checkpoint keeps the value of one rank for each key: "
        "after a load all ranks have it",
    ),
    "FSDP713": Case(
        "optimizer-numbers",
        ({"parameters": "p"}, {"parameters": "p"}),
        ({"parameters": "p"}, {"parameters": "q"}),
        9,
        "rank 0 and rank 1 write the states of different parameters under the same index "
        "('state.0.exp_avg'): one of them is kept, and all ranks silently load it",
    ),
    "FSDP714": Case(
        "written-files",
        ({"file": "host:/m.pt", "content": "p"}, {"file": "host:/n.pt", "content": "q"}),
        ({"file": "host:/m.pt", "content": "p"}, {"file": "host:/m.pt", "content": "q"}),
        9,
        "ranks 0-1 write /m.pt, with different contents: the last one to write wins, or the file is corrupt",
    ),
    "FSDP808": Case(
        "batch",
        ({"batch 1": "p", "batch 2": "q"}, {"batch 1": "r", "batch 2": "s"}),
        ({"batch 1": "p", "batch 2": "q"}, {"batch 1": "p", "batch 2": "q"}),
        9,
        "ranks 0-1 train on the same batches, bit by bit: the job does the work of one rank",
    ),
    "FSDP810": Case(
        "targets",
        ({"targets": "12 of 16"}, {"targets": "12 of 16"}),
        ({"targets": "12 of 16"}, {"targets": "16 of 16"}),
        9,
        "the loss is the mean of 12 targets on rank 0 and of 16 on rank 1, and both count the same: "
        "a target of rank 1 has less weight",
        {"scale": "1", "what": "mean"},
    ),
    "FSDP811": Case(
        "sampler",
        ({"order": "seed 1"}, {"order": "seed 1"}),
        ({"order": "seed 1"}, {"order": "seed 2"}),
        9,
        "the data is shuffled with seed 1 on rank 0 and seed 2 on rank 1: the parts of the ranks overlap, "
        "and some samples are never seen",
        {"part": "0", "parts": "8"},
    ),
    "FSDP812": Case(
        "noise",
        ({"generator": "p"}, {"generator": "q"}),
        ({"generator": "p"}, {"generator": "p"}),
        9,
        "ranks 0-1 draw the same random numbers from the forward of Net to its backward: their samples get the same "
        "masks or the same noise",
        {"model": "Net"},
    ),
}


def judge(code: str, *said: Values, ranks: tuple[int, ...] | None = None, **more: Any) -> list[Finding]:
    """What a clause finds in the values of ranks 0, 1, and so on."""
    case = CASES[code]
    more.setdefault("traits", case.traits)
    together = ranks or tuple(range(len(said)))
    return judge_facts(
        code, {rank: fact(values, case.kind, ranks=together, **more) for rank, values in enumerate(said)}
    )


def judge_facts(code: str, facts: Mapping[int, Fact]) -> list[Finding]:
    found, broken = agree([RULES[code]], facts)
    assert broken == []
    return found


def test_every_clause_that_compares_has_a_case() -> None:
    assert set(RULES) == set(CASES)
    assert {code: rule.compares for code, rule in RULES.items()} == {code: case.kind for code, case in CASES.items()}
    assert all("R" in rule.judged_by for rule in RULES.values())


@pytest.mark.parametrize("code", CASES)
def test_agreement(code: str) -> None:
    assert judge(code, *CASES[code].agreeing) == []


@pytest.mark.parametrize("code", CASES)
def test_disagreement(code: str) -> None:
    case = CASES[code]
    (found,) = judge(code, *case.differing)
    assert (found.code, found.message, found.primary.site) == (code, case.message, site(case.row))


@pytest.mark.parametrize("code", CASES)
def test_one_rank(code: str) -> None:
    """It proves nothing alone, also where it is the only one that ought to speak."""
    for values in CASES[code].differing:
        assert judge(code, values) == []
        assert judge(code, values, ranks=(0, 1)) == []


@pytest.mark.parametrize("code", CASES)
def test_many_ranks(code: str) -> None:
    """One disagreement is one finding, however many ranks there are."""
    first, second = CASES[code].differing
    assert len(judge(code, *[first] * 7, second, ranks=tuple(range(8)))) == 1


@pytest.mark.parametrize("code", sorted(set(CASES) - {"FSDP316"}))
def test_absence_is_no_difference(code: str) -> None:
    """A rank that has not said anything of a name. Of groups, all ranks say all they have."""
    case = CASES[code]
    first, second = case.agreeing
    for name in first:
        without = {other: value for other, value in second.items() if other != name}
        assert judge(code, first, without) == []
        assert judge(code, without, first) == []
        assert judge(code, first, {}) == [] and judge(code, {}, first) == []


def test_ranks_without_a_device() -> None:
    assert judge("FSDP106", {"device": "node GPU-0"}, {}, {}) == []


def test_names_that_the_first_rank_lacks() -> None:
    """Two others that say different things are a difference."""
    (found,) = judge("FSDP613", {}, {"a": "yes"}, {"a": "no"})
    assert found.message.startswith("a has a gradient on rank 1 and none on rank 2")


# Devices


def test_each_device_that_is_shared() -> None:
    devices = ({"device": name} for name in ("n GPU-0", "n GPU-1", "n GPU-0", "m GPU-1", "n GPU-1"))
    found = judge("FSDP106", *devices)
    assert [each.message for each in found] == [
        "ranks 0, 2 work on one GPU (n GPU-0)",
        "ranks 1, 4 work on one GPU (n GPU-1)",
    ]


# InitialWeights weights


def weights(*traits: Mapping[str, str]) -> list[Finding]:
    said = {
        rank: fact({"a": str(rank)}, "starting-weights", ranks=tuple(range(len(traits))), traits=each)
        for rank, each in enumerate(traits)
    }
    return judge_facts("FSDP203", said)


@pytest.mark.parametrize(
    ("traits", "severity", "consequence"),
    [
        ((SHARDS, SHARDS), Severity.WARNING, "the model is put together from shards of different initialisations"),
        ((REPLICAS, REPLICAS), Severity.ERROR, "fully_shard does not broadcast, so the replicas stay different"),
        (
            (SHARDS, {**SHARDS, "loaded": "yes"}),
            Severity.ERROR,
            "only some of them loaded it, and the shards of both make up the model",
        ),
        (
            ({**SHARDS, "loaded": "yes"},) * 2,
            Severity.WARNING,
            "the model is put together from shards of different initialisations",
        ),
        (
            (REPLICAS, {**REPLICAS, "loaded": "yes"}),
            Severity.ERROR,
            "fully_shard does not broadcast, so the replicas stay different",
        ),
    ],
)
def test_weights_that_differ(
    traits: tuple[Mapping[str, str], Mapping[str, str]], severity: Severity, consequence: str
) -> None:
    """Shards of random models make up a random model. Replicas never meet again, and half a checkpoint is none."""
    (found,) = weights(*traits)
    assert (found.severity, found.message) == (
        severity,
        f"rank 0 and rank 1 start from different values of a: {consequence}",
    )


def test_weights_of_which_one_rank_does_not_tell() -> None:
    """It has written into them since; the next parameter still tells."""
    (found,) = judge("FSDP203", {"a": "x", "b": "x"}, {"b": "y"}, {"a": "z", "b": "x"})
    assert found.message.startswith("ranks 0, 2 and rank 1 start from different values of b")


def test_weights_on_meshes_of_their_own() -> None:
    """Ranks of one mesh are compared; those of another have other experts, and say nothing against it."""
    own, others = "e over ranks 0, 2", "e over ranks 1, 3"
    assert judge("FSDP203", {"a": "x", own: "p"}, {"a": "x", others: "q"}, {"a": "x", own: "p"}) == []
    (found,) = judge("FSDP203", {"a": "x", own: "p"}, {"a": "x", others: "q"}, {"a": "x", own: "r"})
    assert found.message.startswith("rank 0 and rank 2 start from different values of e over ranks 0, 2")


# Gradients of parameters that are ignored


def test_experts() -> None:
    """Each rank has others, on purpose: weights that differ explain gradients that do."""
    assert judge("FSDP315", {"a": "v g"}, {"a": "w h"}) == []
    assert judge("FSDP315", {"a": "v g", "b": "w g"}, {"a": "w g", "b": "w h"}) == []
    assert judge("FSDP315", {"b": "w g"}, {"a": "w g", "b": "w h"}) != []


def test_ignored_parameters_without_common_names() -> None:
    assert judge("FSDP315", {"experts.0": "v g"}, {"experts.1": "w h"}) == []


# Plans


def test_a_group_that_one_rank_lacks() -> None:
    (found,) = judge("FSDP316", {"the root Net": "a", "head": "b"}, {"the root Net": "a, b"})
    assert found.message == "head is a group of its own on rank 0 and not on rank 1: their collectives do not match"
    assert found.primary.site == site(21) and found.related == ()


def test_a_group_that_the_first_rank_lacks() -> None:
    (found,) = judge("FSDP316", {"the root Net": "a, b"}, {"the root Net": "a", "head": "b"})
    assert found.message == "head is a group of its own on rank 1 and not on rank 0: their collectives do not match"


def test_places_of_both_sides() -> None:
    said = {
        rank: fact({"head": value}, "plan", places={"head": site(row)})
        for rank, (value, row) in enumerate([("a", 4), ("b", 7)])
    }
    (found,) = judge_facts("FSDP316", said)
    assert (found.primary.site, found.primary.message) == (site(4), "it is sharded here on rank 0")
    assert [(each.site, each.message) for each in found.related] == [(site(7), "and here on rank 1")]


def test_three_plans() -> None:
    (found,) = judge("FSDP316", {"head": "a"}, {"head": "b"}, {"head": "b"}, {})
    assert found.message == "head is a group of its own on ranks 1-2 and not on rank 3: their collectives do not match"


# Gradients of groups


def test_the_place_of_the_group_is_told() -> None:
    said = {
        rank: fact({"w": value}, "group-gradients", places={"": site(4)}) for rank, value in enumerate(("yes", "no"))
    }
    (found,) = judge_facts("FSDP613", said)
    assert [(each.site, each.message) for each in found.related] == [(site(4), "its group is made here")]


# Batches


def test_a_constant_input() -> None:
    """An input that never changes is no data, as with a benchmark; nor does one batch tell."""
    assert judge("FSDP808", {"batch 1": "p", "batch 2": "p"}, {"batch 1": "p", "batch 2": "p"}) == []
    assert judge("FSDP808", {"batch 1": "p"}, {"batch 1": "p"}) == []


def test_one_batch_of_its_own() -> None:
    assert judge("FSDP808", {"batch 1": "p", "batch 2": "q"}, {"batch 1": "p", "batch 2": "r"}) == []


def test_batches_of_some_ranks() -> None:
    """Two of three are no proof: the third may have its own data."""
    same = {"batch 1": "p", "batch 2": "q"}
    assert judge("FSDP808", same, same, ranks=(0, 1, 2)) == []
    assert len(judge("FSDP808", same, same, same)) == 1


def test_batches_that_all_ranks_have() -> None:
    """One rank was faster: what only it has is left out."""
    first = {"batch 1": "p", "batch 2": "q", "batch 3": "r"}
    (found,) = judge("FSDP808", first, {"batch 1": "p", "batch 2": "q"})
    assert found.primary.site == site(9)


# Targets


def test_losses_that_are_rescaled() -> None:
    """Each rank has a factor of its own: it knows how many targets it has."""
    said = {
        rank: fact({"targets": f"{count} of 16"}, "targets", traits={"scale": scale})
        for rank, (count, scale) in enumerate([(12, "0.857"), (16, "1.143")])
    }
    assert judge_facts("FSDP810", said) == []


def test_targets_that_hardly_differ() -> None:
    assert judge("FSDP810", {"targets": "4096 of 4096"}, {"targets": "4090 of 4096"}, traits={"scale": "1"}) == []


def test_batches_without_ignored_targets() -> None:
    assert judge("FSDP810", {"targets": "16 of 16"}, {"targets": "12 of 12"}, traits={"scale": "1"}) == []


# Replicas and buffers


def test_buffers_that_differ() -> None:
    """Statistics of batches are expected to; a checkpoint that has the others of one rank only is a surprise."""
    buffers = {"what": "buffers"}
    first, second = {"norm.running_mean": "a", "seen": "b"}, {"norm.running_mean": "x", "seen": "y"}
    (found,) = judge("FSDP805", first, second, traits=buffers)
    assert (found.severity, found.message.split()[2]) == (Severity.WARNING, "seen")
    (found,) = judge("FSDP805", first, {**second, "seen": "b"}, traits=buffers)
    assert (found.severity, "norm.running_mean" in found.message) == (Severity.INFO, True)
