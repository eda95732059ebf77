"""What FSDP1's methods fail with may be caught, and the program goes on another way."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

USE = """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType
try:
    with FSDP.{name}(model, StateDictType.SHARDED_STATE_DICT):
        state = model.state_dict()
except {caught}:
    {otherwise}
"""
GOES_ON = "state = model.state_dict()"


def codes(name: str, caught: str, otherwise: str) -> list[str]:
    return analyse(main(SHARDED + USE.format(name=name, caught=caught, otherwise=otherwise))).codes


@pytest.mark.parametrize("caught", ["Exception", "KeyError", "(ValueError, LookupError)", "torch.AcceleratorError"])
def test_a_program_that_goes_on_is_right(caught: str) -> None:
    assert "FSDP903" not in codes("state_dict_type", caught, GOES_ON)


@pytest.mark.parametrize(
    ("name", "caught", "otherwise"),
    [
        ("state_dict_type", "Exception as error", 'raise RuntimeError("no state") from error'),
        ("state_dict_type", "ImportError", GOES_ON),
        ("state_dict_type", "(ImportError, ValueError)", GOES_ON),
        ("summon_full_params", "Exception", GOES_ON),  # fails with nothing
    ],
)
def test_a_failure_that_nobody_survives_is_one(name: str, caught: str, otherwise: str) -> None:
    assert "FSDP903" in codes(name, caught, otherwise)
