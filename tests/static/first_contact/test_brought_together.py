"""What each rank has is brought together by hand: readings that are completed, notes that handlers keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

# -- 603: a reading that is given to a collective --------------------------------------------

HELPERS = """
def gathered(data, group=None):
    parts = [torch.empty_like(data) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, data, group=group)
    return torch.stack(parts)

def rooted(square, note=""):
    print(note)
    total = torch.tensor([square])
    dist.all_reduce(tensor=total)
    return total.item() ** 0.5

def told(value):
    dist.barrier()
    print(value)

class Meter:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        self.total += value ** 2

    def norm(self):
        total = torch.tensor([self.total])
        dist.all_reduce(total)
        return total.item() ** 0.5

class Sums:
    def __init__(self):
        self.seen = []

    def all(self, square):
        return rooted(square)
"""
COMPLETED = [
    "value = p.grad.norm().item()\nvalue = gathered(torch.tensor([value ** 2])).sum().item() ** 0.5",
    "value = gathered(data=torch.tensor([p.grad.norm().item() ** 2])).sum().item() ** 0.5",
    "value = rooted(p.grad.norm().item() ** 2, 'norm')",
    "value = Sums().all(p.grad.norm().item() ** 2)",
    "norms = []\nnorms.append(p.grad.norm().item())\nvalue = rooted(sum(each ** 2 for each in norms))",
    "norms = [p.grad.norm().item()]\ntotal = 0.0\nfor each in norms:\n    total += each ** 2\nvalue = rooted(total)",
    "meter = Meter()\nmeter.update(p.grad.norm().item())\nvalue = meter.norm()",
    "value = torch.tensor([p.grad.norm().item() ** 2])\ndist.all_reduce(tensor=value)",
]
NOT_COMPLETED = [
    "value = p.grad.norm().item()\nprint(gathered(torch.ones(1)))",
    "value = rooted(1.0, p.grad.norm().item())",
    "value = p.grad.norm().item()\ntold(value)\nrooted(2.0)",
    "norms = []\nnorms.append(p.grad.norm().item())\nvalue = rooted(2.0)",
    "meter = Meter()\nprint(p.grad.norm().item())\nvalue = meter.norm()",
    "value = p.grad.norm().item()\ntorch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=value)",
    "value = p.grad.norm().item()\nif value > 1.0:\n    dist.all_reduce(torch.ones(1))",
]


def program(reads: str) -> str:
    return main(f"{SHARDED}model(torch.ones(2)).sum().backward()\np = next(model.parameters())\n{reads}\n", HELPERS)


@pytest.mark.parametrize("reads", COMPLETED)
def test_a_reading_that_a_collective_completes(reads: str) -> None:
    assert "FSDP603" not in analyse(program(reads)).codes


@pytest.mark.parametrize("reads", NOT_COMPLETED)
def test_a_reading_beside_a_collective(reads: str) -> None:
    assert "FSDP603" in analyse(program(reads)).codes


@pytest.mark.parametrize("given, codes", [("norm ** 2", []), ("1.0", ["FSDP603"])])
def test_the_norm_of_clipping_in_older_torch(tmp_path: Path, given: str, codes: list[str]) -> None:
    reads = "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()\n"
    reads += f"value = gathered(torch.tensor([{given}])).sum().item() ** 0.5\nprint(value)"
    (tmp_path / "train.py").write_text(program(reads))
    assert [each.code for each in lint([str(tmp_path)], Asked(select=["FSDP603"], target=(2, 8))).findings] == codes


# -- 807: a note by which the code behind may stop ---------------------------------------------

AGREE = """
def all_well(well):
    flag = torch.tensor([1 if well else 0])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return flag.item() == 1
"""
ATTEMPT = (
    AGREE
    + """
def attempt(model, batch):
    well = True
    try:
        model(batch)
    except Exception:
        {handler}
    return well
"""
)
STEP = f"""{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
{{before}}
for batch in torch.load("batches.pt"):
    {{first}}
    try:
        model(batch).sum().backward()
    except Exception:
        {{handler}}
    {{behind}}
    optimizer.step()
{{after}}
"""


def handled(handler: str, behind: str = "pass", *, before: str = "", first: str = "pass", after: str = "") -> list[str]:
    text = STEP.format(handler=handler, behind=behind.replace("\n", "\n    "), before=before, first=first, after=after)
    return [code for code in analyse(main(text, AGREE)).codes if code == "FSDP807"]


@pytest.mark.parametrize("handler, behind", [
    ("well = False", "if not all_well(well):\n    raise RuntimeError('failed')"),
    ("well = False", "agreed = all_well(well)\nif not agreed:\n    continue"),
    ("well = False", "flag = torch.tensor(float(well))\ndist.all_reduce(flag)\nif flag.item() < 1:\n    break"),
    ("well = False", "if not well:\n    break"),
    ("well = False", "if not well:\n    sys.exit(1)"),
    ("errors.append(batch)", "if len(errors) > 3:\n    raise RuntimeError('too many')"),
    ("model.failed = True", "assert not model.failed"),
])  # fmt: skip
def test_a_note_that_is_heeded(handler: str, behind: str) -> None:
    assert handled(handler, behind, before="errors = []", first="well = True") == []


@pytest.mark.parametrize("handler, behind", [
    ("well = False", "print(well)"),
    ("well = False", "if not well:\n    print('failed')"),
    ("well = False", "if not well:\n    continue"),
    ("well = False", "dist.all_reduce(torch.tensor(float(well)))"),
    ("well = False", "if not all_well(True):\n    raise RuntimeError('other')"),
    ("well = False; continue", "if not all_well(well):\n    raise RuntimeError('failed')"),
    ("steps += 1; continue", "steps += 1\nif steps > 100:\n    break"),
    ("pass", "if not well:\n    break"),
])  # fmt: skip
def test_a_note_that_nobody_heeds(handler: str, behind: str) -> None:
    assert handled(handler, behind, before="steps = 0\nerrors = []", first="well = True") == ["FSDP807"]


def test_a_note_for_the_next_round() -> None:
    stops = "if failed: break"
    assert handled("failed = True; continue", before="failed = False", first=stops) == []
    assert handled("failed = True; continue", before="failed = False", first="if len(batch) > 9: break") == ["FSDP807"]


def test_behind_the_loop_it_is_too_late() -> None:
    late = "if failed:\n    raise RuntimeError('failed')"
    assert handled("failed = True", before="failed = False", after=late) == ["FSDP807"]


@pytest.mark.parametrize("handler, asks, codes", [
    ("well = False", "if not attempt(model, batch): break", []),
    ("well = False", "if not all_well(attempt(model, batch)): continue", []),
    ("well = False", "attempt(model, batch)", ["FSDP807"]),
    ("print('failed')", "if not attempt(model, batch): break", ["FSDP807"]),
])  # fmt: skip
def test_a_note_that_is_returned(handler: str, asks: str, codes: list[str]) -> None:
    text = main(f"{SHARDED}for batch in torch.load('batches.pt'):\n    {asks}\n", ATTEMPT.format(handler=handler))
    assert [code for code in analyse(text).codes if code == "FSDP807"] == codes
