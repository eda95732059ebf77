"""A call that leaves out what has no default raises: nothing of the function is run, nor what follows."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = """
def prepare(rate, sharded, *, steps=3):
    return rate if sharded else steps
"""
STALE = """
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
fully_shard(model)
model(torch.randint(0, 100, (4, 16), device="cuda")).mean().backward()
optimizer.step()
"""
RAISES = ["prepare(0.1)", "prepare(rate=0.1)", "prepare(sharded=True)", "prepare(*[0.1])"]
FITS = [
    "prepare(0.1, True)",
    "prepare(0.1, sharded=True)",
    "prepare(**{'rate': 0.1, 'sharded': True})",
    "prepare(*sys.argv[1:], sharded=True)",
    "prepare(0.1, **vars(parse()))",
]


@pytest.mark.parametrize("call", RAISES)
def test_it_is_not_run(call: str) -> None:
    assert "FSDP601" not in analyse(main(call + STALE, KINDS)).codes


@pytest.mark.parametrize("call", FITS)
def test_it_is_run(call: str) -> None:
    kinds = KINDS + "\n\ndef parse():\n    return argparse.ArgumentParser().parse_args()\n"
    assert "FSDP601" in analyse(main(call + STALE, "import argparse\n" + kinds)).codes


def test_a_decorator_may_put_it_in() -> None:
    kinds = KINDS.replace("def prepare(", "@with_settings\ndef prepare(")
    assert "FSDP601" in analyse(main("prepare(0.1)" + STALE, "from settings import with_settings\n" + kinds)).codes
