"""One mistake that is met at many places is one finding, which names a few of the others and counts them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Edit, Finding, Fix, Label, Severity, Site
from fsdp2_lint.vocab.overlaps import SHOWN, one_for_each_cause
from tests.static.program import HEAD, NET, analyse, script

RANK = """
    rank = int(os.environ["RANK"])
    a = torch.ones(2).to(f"cuda:{rank}")
    b = torch.ones(2).to(f"cuda:{rank}")
    torch.cuda.set_device(rank)
    c = torch.ones(2, device=f"cuda:{rank}")
    d = torch.ones(2).to(rank)
    e = torch.ones(2).to(rank)
    f = torch.ones(2).to(rank)
    fully_shard(Net())
"""
GUARD = """
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Net()
    fully_shard(model)
    if dist.get_rank() == 0:
        dist.barrier()
        dist.all_reduce(torch.ones(1))
        model(torch.ones(2, 8)).sum().backward()
        dist.barrier()
"""
POLICY = """
    policy = CPUOffload(offload_params=True)
    model = Net()
    fully_shard(model.embed, offload_policy=policy)
    fully_shard(model.head, offload_policy=policy)
    fully_shard(model, offload_policy=policy)
"""
TWICE = """
    model = Net()
    shard_parts(model)
    fully_shard(model.embed)
    fully_shard(model.head)
"""
SHARD_PARTS = "def shard_parts(model):\n    fully_shard(model.embed)\n    fully_shard(model.head)\n"
IMPORT = "from torch.distributed.fsdp import CPUOffload\n"


def findings(text: str, code: str) -> list[Finding]:
    return [each for each in analyse(text).result.findings if each.code == code]


@pytest.mark.parametrize(
    ("code", "main", "before", "places"),
    [
        ("FSDP102", RANK, "", 7),
        ("FSDP801", GUARD, "", 4),
        ("FSDP503", POLICY, IMPORT, 3),
        ("FSDP305", TWICE, SHARD_PARTS, 2),
    ],
)
def test_one_cause_is_one_finding(code: str, main: str, before: str, places: int) -> None:
    (finding,) = findings(script(main, before), code)
    others = f"{places - 1} other place{'s' if places > 2 else ''}"
    assert finding.message.endswith(f" (here and at {others})") and len(finding.also) == places - 1
    assert sum(label.message == "the same here" for label in finding.related) == min(places - 1, SHOWN)
    assert finding.primary.site.row < min(site.row for site in finding.also), "the first in the order of the program"


@pytest.mark.parametrize(
    ("code", "main", "before"),
    [
        ("FSDP102", RANK.replace("torch.cuda.set_device(rank)", 'rank = int(os.environ["RANK"])'), ""),
        ("FSDP801", GUARD + "    if dist.get_rank() == 0:\n        dist.barrier()\n", ""),
        ("FSDP503", POLICY.replace("model, offload_policy=policy", "model, offload_policy=CPUOffload()"), IMPORT),
    ],
)
def test_another_cause_is_another_finding(code: str, main: str, before: str) -> None:
    assert len(findings(script(main, before), code)) == 2


def test_one_cause_of_a_script_without_functions() -> None:
    text = f"{HEAD}{IMPORT}{NET}\nmodel = Net()\npolicy = CPUOffload\nfor layer in model.layers:\n    "
    sharded = "fully_shard({}, offload_policy=policy)\n"
    (finding,) = findings(text + sharded.format("layer") + sharded.format("model"), "FSDP503")
    assert len(finding.also) == 1


def test_a_comment_at_another_place_does_not_silence_the_first(tmp_path: Path) -> None:
    def shown(row: str) -> tuple[int, list[str]]:
        text = script(RANK).replace(row, f"{row}  # fsdp2-lint: ignore[FSDP102] one node only")
        (tmp_path / "train.py").write_text(text)
        report = lint([str(tmp_path)])
        return sum(each.code == "FSDP102" for each in report.findings), [each.code for each in report.silenced]

    assert shown('a = torch.ones(2).to(f"cuda:{rank}")') == (0, ["FSDP102"])
    assert shown('b = torch.ones(2).to(f"cuda:{rank}")') == (1, [])


def made(row: int, *edits: Edit, cause: object = "the cause", safe: bool = True) -> Finding:
    fix = Fix(edits, safe=safe) if edits else None
    at = Label(Site("train.py", row, 1, row, 9), "here")
    return Finding("FSDP999", "an-example", Severity.ERROR, "wrong", at, "help", fix=fix, cause=cause)


def test_all_edits_are_made() -> None:
    first, second = (Edit(Site("train.py", row, 1, row, 4), "") for row in (1, 2))
    (told,) = one_for_each_cause([made(1, first), made(2, second, safe=False), made(3, second)])
    assert told.fix == Fix((first, second), safe=False)
    assert told.cause is None and [site.row for site in told.also] == [2, 3]
    over = Edit(Site("train.py", 1, 2, 1, 6), "")
    (told,) = one_for_each_cause([made(1, first), made(2, over)])
    assert told.fix == Fix((first,)), "the other has its turn when the first is made"


def test_what_names_no_cause_stays_as_it_is() -> None:
    alone = [made(1, cause=None), made(2, cause=None)]
    assert one_for_each_cause(alone) == alone
    assert [each.message for each in one_for_each_cause([made(1, cause="a"), made(2, cause="b")])] == ["wrong"] * 2
