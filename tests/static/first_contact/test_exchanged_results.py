"""What wraps a function, and is not seen, may return other data than the function did."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

HELPERS = """
from functools import cache, lru_cache, singledispatch
from elsewhere import gathers

{decorator}
def whole(x):
    return {returned}
"""
BY_CLASS = """
from functools import singledispatch

@singledispatch
def whole(x):
    return x

@whole.register
def _(x: torch.Tensor):
    return x.full_tensor().cpu()

@whole.register(dict)
def _(x):
    return {name: whole(value) for name, value in x.items()}
"""
RUN = """
model = Net()
fully_shard(model)
state = whole(model.state_dict())
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


def saved(before: str) -> bool:
    return "FSDP701" in analyse(main(RUN, before)).codes


@pytest.mark.parametrize("returned", ["x", '{"model": x}', "(x, 1)"])
@pytest.mark.parametrize("decorator", ["@gathers", "@gathers(dim=0)", "@singledispatch"])
def test_a_state_dict_may_be_exchanged(decorator: str, returned: str) -> None:
    assert not saved(HELPERS.format(decorator=decorator, returned=returned))


def test_the_class_of_the_argument_chooses_the_function() -> None:
    assert not saved(BY_CLASS)


@pytest.mark.parametrize("decorator", ["", "@torch.no_grad()", "@cache", "@lru_cache(maxsize=None)"])
def test_what_is_known_to_return_the_same(decorator: str) -> None:
    assert saved(HELPERS.format(decorator=decorator, returned="x"))
