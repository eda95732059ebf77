"""Gradient accumulation: which micro-batch reduces, and groups that a field holds at last."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
micro = [torch.ones(2, 8, dtype=torch.long)] * int(os.environ["ACCUM"])
for step in range(10):
    for i, x in enumerate(micro):
        model.set_requires_gradient_sync({when})
        (model(x).sum() / len(micro)).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def codes(when: str) -> list[str]:
    return analyse(script(MAIN.format(when=when))).codes


@pytest.mark.parametrize("when", ["i == 0", "0 == i"])
def test_the_first_micro_batch_alone(when: str) -> None:
    assert codes(when) == ["FSDP604"]


@pytest.mark.parametrize(
    "when", ["i == len(micro) - 1", "i + 1 == len(micro)", "(i + 1) % len(micro) == 0", "i != 0", "True"]
)
def test_the_last_one(when: str) -> None:
    assert codes(when) == []


def test_the_first_of_the_steps_is_another_loop() -> None:
    """Every later step has its gradients from before: that is another matter, and not known to be wrong."""
    assert "FSDP604" not in codes("step == 0 or i == len(micro) - 1")


SAVER = """
import torch.distributed.checkpoint as dcp

class Saver:
    def __init__(self):
        self.group = None

    def start(self):
        self.group = dist.new_group({ranks})

    def save(self, model):
        dcp.save({{"model": model.state_dict()}}, checkpoint_id="out", process_group=self.group)
"""
SAVED = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
saver = Saver()
if os.environ.get("OWN_GROUP"):
    saver.start()
if dist.get_rank() == 0:
    saver.save(model)
"""


@pytest.mark.parametrize(("ranks", "expected"), [("backend='gloo'", ["FSDP801"]), ("[0]", [])])
def test_a_group_of_all_ranks_or_none(ranks: str, expected: list[str]) -> None:
    assert analyse(script(SAVED, SAVER.format(ranks=ranks))).codes == expected


@pytest.mark.parametrize(
    ("loop", "when", "verdict"),
    [
        ("range(4)", "i == 0", "violated"),
        ("range(4)", "i == 2", "violated"),
        ("range(4)", "i == 3", "upheld"),
        ("range(1)", "i == 0", "upheld"),
        ("range(1, 5)", "i == 4", "upheld"),
        ("range(1, 5)", "i == 1", "violated"),
        ("range(int(os.environ['ACCUM']))", "i == 0", "violated"),
        ("range(int(os.environ['ACCUM']))", "i == 3", "unknown"),
    ],
)
def test_rounds_that_are_counted(loop: str, when: str, verdict: str) -> None:
    text = (
        MAIN.format(when=when)
        .replace("i, x in enumerate(micro)", f"i in {loop}")
        .replace("model(x)", "model(micro[0])")
    )
    assert analyse(script(text)).verdicts("FSDP604") == {verdict}


N = "int(os.environ['ACCUM'])"


@pytest.mark.parametrize(
    ("loop", "when", "verdict"),
    [
        ("i, x in enumerate(micro)", "i == len(micro) - 1", "upheld"),
        ("i, x in enumerate(micro)", "i + 1 == len(micro)", "upheld"),
        ("i, x in enumerate(micro)", "not i < len(micro) - 1", "upheld"),
        ("i, x in enumerate(micro)", "i == len(micro)", "violated"),
        ("i, x in enumerate(micro)", "i == len(micro) - 2", "violated"),
        ("i, x in enumerate(micro)", "(i + 1) % n == 0", "unknown"),
        ("i, x in enumerate(micro, 1)", "i == len(micro)", "upheld"),
        ("i, x in enumerate(micro, start=1)", "i % len(micro) == 0", "upheld"),
        ("i in range(n)", "(i + 1) % n == 0", "upheld"),
        ("i in range(n)", "i % n == 0", "unknown"),
        ("i in range(n)", "i >= n - 1", "upheld"),
        ("i in range(n)", "i != n - 1", "violated"),
        ("i in range(n)", "i == n", "violated"),
        ("i in range(n)", "i == more", "unknown"),
        ("i in range(1, n + 1)", "i == n", "upheld"),
        ("i in range(1, n + 1)", "i == n - 1", "violated"),
        ("i in range(1, n + 1)", "i == n - 1 or i == n", "upheld"),
        ("i in range(1, several + 1)", "i == several", "upheld"),
        ("i in range(1, several + 1)", "i == several - 1", "violated"),
        ("i in range(n)", "step == 9", "unknown"),
        ("i in range(n)", "step == 9 or i == n - 1", "upheld"),
        ("i in range(n)", "step == 9 and i == n - 1", "unknown"),
        ("i in range(several)", "i == (7 if os.environ.get('LONG') else n)", "unknown"),
    ],
)
def test_rounds_up_to_a_number_that_is_not_known(loop: str, when: str, verdict: str) -> None:
    text = MAIN.format(when=when).replace("i, x in enumerate(micro)", loop).replace("model(x)", "model(micro[0])")
    several = "several = 8 if os.environ.get('LONG') else n"
    text = text.replace("micro =", f"n, more = {N}, int(os.environ['MORE'])\n{several}\nmicro =")
    assert analyse(script(text)).verdicts("FSDP604") == {verdict}


@pytest.mark.parametrize(
    ("test", "verdict"),
    [("i == len(micro) - 1", "upheld"), ("i == len(micro)", "violated"), ("i == n", "unknown")],
)
def test_switched_on_in_one_round_by_a_call_of_its_own(test: str, verdict: str) -> None:
    switch = f"if {test}:\n            model.set_requires_gradient_sync(True)"
    text = MAIN.format(when="False").replace(
        "    for i, x", "    model.set_requires_gradient_sync(False)\n    for i, x"
    )
    text = text.replace("        model.set_requires_gradient_sync(False)\n        (", f"        {switch}\n        (")
    text = text.replace("micro =", f"n = {N}\nmicro =")
    assert analyse(script(text)).verdicts("FSDP604") == {verdict}
