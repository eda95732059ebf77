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


METHODS = """
from functools import singledispatchmethod

class Saver:
    @singledispatchmethod
    def whole(self, x):
        return x

    @whole.register
    def _(self, x: nn.Module):
        return {name: self.whole(value) for name, value in x.state_dict().items()}

    @whole.register(torch.Tensor)
    def _tensor(self, x):
        return x.full_tensor().cpu()
"""
PLAIN = METHODS.replace("    @singledispatchmethod\n", "").replace("@whole.register\n", "@staticmethod\n")


def module_saved(before: str) -> bool:
    run = RUN.replace("whole(model.state_dict())", "Saver().whole(model)")
    return "FSDP701" in analyse(main(run, before)).codes


def test_a_method_is_chosen_by_the_class_of_its_argument() -> None:
    assert not module_saved(METHODS)


def test_a_method_that_returns_the_module_itself() -> None:
    assert module_saved(PLAIN.replace("    @whole.register(torch.Tensor)\n", ""))


MATCHED = """
def whole(x):
    match x:
        case {tensor}():
            return x.full_tensor().cpu()
        case dict():
            return {{name: whole(value) for name, value in x.items()}}
        case _:
            return x
"""


def test_class_patterns_ask_of_what_class_data_are() -> None:
    assert not saved(MATCHED.format(tensor="torch.Tensor"))


def test_a_class_pattern_that_no_tensor_fits() -> None:
    assert saved(MATCHED.format(tensor="list"))


PREDICATE = """
from elsewhere import cached

@cached
def sharded():
    return os.environ.get("SHARDED", "1") == "1"
"""
ASKED = """
model = Net()
if sharded():
    fully_shard(model)
state = {full} if {asked} else model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
FULL = "get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))"


def test_a_predicate_answers_alike_whoever_wraps_it() -> None:
    assert "FSDP701" not in analyse(main(ASKED.format(full=FULL, asked="sharded()"), PREDICATE)).codes
    assert "FSDP701" in analyse(main(ASKED.format(full=FULL, asked="not sharded()"), PREDICATE)).codes
