"""One call that takes too long costs its caller nothing but what that call was handed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.static.program import FOOT, HEAD, NET, Analysis, analyse, limited

LONG = "def report({0}):\n" + "".join(f"    x{number} = {number}\n" for number in range(150)) + "{1}\n\n\n"
SHARD = "    fully_shard(model)\n"
DIRECT = "    model.forward(torch.ones(2, 8))\n"


@pytest.fixture(autouse=True)
def few_steps() -> Iterator[None]:
    with limited(call_steps=110):
        yield


def after(helper: str, call: str, rest: str) -> Analysis:
    return analyse(HEAD + NET + helper + f"def main():\n    model = Net()\n    {call}\n" + rest + FOOT)


def test_the_caller_goes_on() -> None:
    seen = after(LONG.format("", ""), "report()", SHARD + DIRECT)
    assert {"FSDP401", "FSDP301"} <= set(seen.codes)


def test_what_the_call_was_handed_is_open_to_unknown_code_in_it() -> None:
    unknown = "import mystery\n\n\n" + LONG.format("model", "    mystery.touch(model)")
    assert "FSDP301" not in after(unknown, "report(model)", SHARD).codes, "it may shard the blocks"
    assert "FSDP301" in after(LONG.format("model", ""), "report(model)", SHARD).codes, "it names nothing that could"


def test_of_what_it_reaches_through_fields_only_what_it_mentions_is_open() -> None:
    """A method that was cut cannot touch an optimizer whose name it never says."""
    holder = "class Holder:\n    def __init__(self, model):\n        self.model = model\n"
    holder += "        self.optimizer = torch.optim.AdamW(model.parameters())\n\n"
    run = "def main():\n    model = Net()\n    held = Holder(model)\n    fully_shard(model)\n    held.report()\n"
    for mentioned, found in (("0", True), ("self.optimizer", False)):
        method = (
            LONG.format("self", f"    mystery.touch({mentioned})")
            .replace("\n    ", "\n        ")
            .replace("def", "    def")
        )
        seen = analyse(HEAD + "import mystery\n" + NET + holder + method + run + "    held.optimizer.step()\n" + FOOT)
        assert ("FSDP601" in seen.codes) is found, mentioned


def test_a_function_that_names_sharding_code_is_not_cut() -> None:
    helper = LONG.format("model", "    fully_shard(model)")
    assert "FSDP401" in after(helper, "report(model)", DIRECT).codes


def test_a_loop_over_many_alternatives_is_cut_by_its_own_statements() -> None:
    helper = LONG.format("model", "    fully_shard(model)")
    calls = "\n    ".join("report(Net())" for _ in range(6))
    with limited(own_steps=400):
        assert "FSDP401" in after(helper, calls, SHARD + DIRECT).codes


@pytest.mark.parametrize(("times", "cut"), [(1, True), (30, False)])
def test_the_forward_of_a_model_may_take_more_than_other_functions(times: int, cut: bool) -> None:
    """What a cut forward had in its hands, the model itself, is unknown from there on."""
    layer = "class Wide(Net):\n    def forward(self, x):\n"
    layer += (
        "".join(f"        x{number} = {number}\n" for number in range(150))
        + "        return mystery.looked_at(x)\n\n\n"
    )
    train = "def main():\n    model = Wide()\n    for layer in model.layers:\n        fully_shard(layer)\n"
    train += SHARD + "    model(torch.ones(2, 8))\n" * 4
    with limited(call_steps=200, own_steps=200, of_models=times):
        assert ("unknown" in analyse(HEAD + "import mystery\n" + NET + layer + train + FOOT).verdicts("FSDP301")) is cut


def test_programs_that_shard_nothing_take_no_steps_from_those_that_do() -> None:
    idle = "".join(f"x{number} = {number}\n" for number in range(300)) + "import good\nif x1:\n    good.main()\n"
    good = HEAD + NET + "def main():\n    model = Net()\n" + SHARD + DIRECT
    files = {f"idle{number}.py": idle for number in range(8)} | {"good.py": good}
    with limited(script_unsharded=200):
        assert "FSDP401" in analyse(files).codes


# A number that came to be on ever more ways.
COMBINED = "import mystery\n\n\ndef combined(batch, model):\n    total = 0\n" + "".join(
    f"    total = total + (batch.a{at} if batch.on{at} else batch.b{at})\n" for at in range(60)
)


def test_data_that_depends_on_many_conditions_costs_its_caller_no_more_than_its_share() -> None:
    with limited(call_steps=16_000, conditions=15_000):
        assert "FSDP401" not in after(COMBINED, "combined(mystery.batch(), model)", SHARD + DIRECT).codes
        with limited(call_paths=200):
            assert "FSDP401" in after(COMBINED, "combined(mystery.batch(), model)", SHARD + DIRECT).codes


def test_a_function_that_is_lost_in_combinations_is_cut_but_what_shards_gets_further() -> None:
    sharding = COMBINED + "    fully_shard(model)\n\n\n"
    with limited(call_steps=16_000, conditions=15_000, own_conditions=3_000):
        assert "FSDP401" in after(COMBINED, "combined(mystery.batch(), model)", SHARD + DIRECT).codes
        with limited(of_models=1):
            assert "FSDP401" not in after(sharding, "combined(mystery.batch(), model)", DIRECT).codes
    with limited(call_steps=16_000, own_conditions=3_000, of_models=100):
        assert "FSDP401" in after(sharding, "combined(mystery.batch(), model)", DIRECT).codes


def test_one_round_stands_for_many_batches() -> None:
    """Each is there on some paths; what is done with the first few is done with all."""
    batches = "".join(f"    if mystery.on({at}):\n        batches.append(mystery.one({at}))\n" for at in range(40))
    train = f"    batches = []\n{batches}    for batch in batches:\n        step(model, batch)\n"
    step = "import mystery\n\n\ndef step(model, batch):\n    model.forward(batch).sum().backward()\n\n\n"
    with limited(script_steps=1_000):
        assert "FSDP701" in after(step, "fully_shard(model)", train + "    torch.save(model.state_dict(), 'w')\n").codes
