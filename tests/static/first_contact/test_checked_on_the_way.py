"""A setting that is refused on the way to ``to_empty`` chooses no run that trains without it."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse, limited

HELPER = """
import copy

def split(model):
    return [copy.deepcopy(model)]


def parallelize(model, compiles, overlaps):
    if overlaps:
        if not compiles:
            raise RuntimeError("overlapping needs compile")
        if not os.environ.get("EAGER"):
            raise RuntimeError("or this")
        if not os.environ.get("CACHE"):
            raise RuntimeError("or that")
        model.overlap = True
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
"""
RUN = """
pipelined = int(os.environ["STAGES"]) > 1
compiles, overlaps = os.environ.get("COMPILE"), os.environ.get("OVERLAP")
with torch.device("meta"):
    model = Net()
if pipelined:
    parts = split(model)
    for part in parts:
        parallelize(part, compiles, overlaps)
        part.to_empty(device="cuda")
else:
    parallelize(model, compiles, overlaps)
    {fills}
    for weight in model.parameters():
        nn.init.normal_(weight)
    parts = [model]
optimizer = torch.optim.AdamW(parts[0].parameters())
if pipelined:
    schedule(parts)
else:
    model(torch.zeros(2, 3, dtype=torch.long, device="cuda")).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize("code", ["FSDP201", "FSDP202"])
def test_refused_settings_are_no_choice(code: str) -> None:
    """Also where so much is asked that what is checked inside a branch is not known behind it."""
    before = f"from elsewhere import schedule\n{HELPER}"
    run = main(RUN.replace("{fills}", 'model.to_empty(device="cuda")'), before)
    with limited(learned=4):
        assert code not in analyse(run).codes
    assert code not in analyse(run).codes


def test_a_setting_that_nobody_checks_is_one() -> None:
    before = f"from elsewhere import schedule\n{HELPER}"
    run = RUN.replace("{fills}", 'if compiles:\n        model.to_empty(device="cuda")')
    assert "FSDP202" in analyse(main(run, before)).codes
