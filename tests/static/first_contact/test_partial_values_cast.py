"""What is done to a partial value before it is read: the placements were asked of torch 2.13 (FSDP603)."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

TRAINED = "model(torch.ones(2, 8, dtype=torch.long)).sum().backward()\n"
READ = "for p in model.parameters():\n    print(scalar(p.detach().{reduced}()))\n"
HELPER = "def scalar(t):\n    return {value}\n"


def is_local(reduced: str, value: str) -> bool:
    found = analyse(main(SHARDED + TRAINED + READ.format(reduced=reduced), HELPER.format(value=value)))
    return "FSDP603" in found.codes


@pytest.mark.parametrize(
    "cast", ["float()", "double()", "bfloat16()", "half()", "to(torch.float64)", "type(torch.half)"]
)
def test_casts_complete_norms_alone(cast: str) -> None:
    assert is_local("sum", f"t.{cast}.item()") and is_local("max", f"float(t.{cast})")
    assert not is_local("norm", f"t.{cast}.item()")


@pytest.mark.parametrize("shape", ["view(1)", "reshape(1)", "flatten()", "unsqueeze(0)", "squeeze()", "contiguous()"])
def test_a_shape_completes_nothing(shape: str) -> None:
    assert is_local("norm", f"t.{shape}.item()") and is_local("mean", f"t.detach().{shape}.item()")


@pytest.mark.parametrize("value", ["(t / 2).item()", "(2 * t).item()", "(t * 0.5).float().item()"])
def test_factors_complete_what_is_not_linear(value: str) -> None:
    assert is_local("sum", value) and is_local("mean", value) and not is_local("max", value)


@pytest.mark.parametrize("value", ["t.clone().item()", "t.sqrt().item()", "t.float().full_tensor().item()"])
def test_what_completes_it(value: str) -> None:
    assert not is_local("sum", value)
