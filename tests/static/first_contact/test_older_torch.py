"""Handlers for an older torch, plans that leave parameters alone, texts and functions that are next to nothing."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

# -- a handler for a torch that is older than FSDP2 ---------------------------------------


def gathers_or(caught: str, again: str = "get_model_state_dict(model)") -> str:
    return main(f"""{SHARDED}
options = StateDictOptions(full_state_dict=True, cpu_offload=True)
try:
    state = dict(get_model_state_dict(model, options=options))
except {caught}:
    state = dict({again})
if dist.get_rank() == 0:
    whole = {{name: each.full_tensor() if hasattr(each, "full_tensor") else each for name, each in state.items()}}
    torch.save(whole, "model.pt")
""")


def test_a_keyword_that_each_torch_with_fsdp2_has() -> None:
    assert analyse(gathers_or("TypeError")).codes == []


@pytest.mark.parametrize(
    "caught, again", [("RuntimeError", "get_model_state_dict(model)"), ("TypeError", "model.state_dict()")]
)
def test_a_handler_of_what_can_fail_in_any_torch(caught: str, again: str) -> None:
    assert "FSDP801" in analyse(gathers_or(caught, again)).codes


@pytest.mark.parametrize("one, other", [
    ("bool(config.get('sharded'))", "bool(config.get('plain'))"),
    ("str(config['kind']) == 'sharded'", "str(config['how']) == 'plain'"),
    ("str(config['kind']).lower() == 'sharded'", "str(config['how']).lower() == 'plain'"),
    ("f\"{config['kind']}\" == 'sharded'", "f\"{config['how']}\" == 'plain'"),
])  # fmt: skip
def test_two_settings_are_not_one(one: str, other: str) -> None:
    """What is converted keeps apart what it was: neither condition says anything of the other."""
    read = "with open('config.yaml') as file:\n    config = yaml.safe_load(file)\n"
    body = (
        read
        + f"""
model = Net()
if {one}:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
if {other}:
    torch.save(model.state_dict(), "model.pt")
"""
    )
    assert analyse(main(body)).codes == ["FSDP701"]
    assert analyse(main(body.replace(other, f"not ({one})"))).codes == []


STYLES = """
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, SequenceParallel, parallelize_module
from torch.distributed.tensor import Replicate, Shard
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh["dp"])
fully_shard(model, mesh=mesh["dp"])
prepared = PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0))
"""


@pytest.mark.parametrize("plan, codes", [
    ("ColwiseParallel()", ["FSDP309"]),
    ("{'layers.0': prepared, 'head': ColwiseParallel()}", ["FSDP309"]),
    ("prepared", []),
    ("{'layers.0': prepared, 'head': prepared}", []),
    ("{'head': SequenceParallel()}", []),  # of parameters that a norm may not have
    ("plan_of(model)", []),
])  # fmt: skip
def test_a_plan_that_leaves_the_parameters_alone(plan: str, codes: list[str]) -> None:
    assert (
        analyse(main(f"from plans import plan_of\n{STYLES}parallelize_module(model, mesh['tp'], {plan})\n")).codes
        == codes
    )


def test_one_order_that_is_wrong_is_one_finding() -> None:
    several = "".join(
        f"parallelize_module(model.{part}, mesh['tp'], ColwiseParallel())\n" for part in ("embed", "head")
    )
    (found,) = analyse(main(STYLES + several)).result.findings
    assert len(found.also) == 1


@pytest.mark.parametrize("body", ['"""Nothing by default."""', "...", "return [at for at in range(9)]"])
def test_a_function_that_is_nothing_but_its_docstring(body: str) -> None:
    """It is called, with nothing of a model in its hands."""
    empty = f"class Hooks:\n    def begin(self, step):\n        {body}\n"
    assert analyse(main(f"{SHARDED}Hooks().begin(3)\ntorch.save(model.state_dict(), 'model.pt')", empty)).codes == [
        "FSDP701"
    ]


@pytest.mark.parametrize("wanted", ["full_state_dict=True, cpu_offload=True", "full_state_dict=True"])
def test_options_that_each_torch_takes_are_not_tried_again(wanted: str) -> None:
    """The first candidate is never refused, so the others are never taken; what is not known proves nothing."""
    tries = """
def options_of(**wanted):
    for candidate in [dict(wanted), {"cpu_offload": True}, {}]:
        try:
            return StateDictOptions(**candidate)
        except TypeError:
            continue
    return StateDictOptions()
"""
    body = f"""{SHARDED}
state = get_model_state_dict(model, options=options_of({wanted}))
if dist.get_rank() == 0:
    for name, each in state.items():
        if hasattr(each, "full_tensor"):
            state[name] = each.full_tensor()
"""
    assert "FSDP801" not in analyse(main(body, tries)).codes
    assert "FSDP801" in analyse(main(body.replace(f"options_of({wanted})", "None"), tries)).codes


WITHOUT_NAMES = """
try:
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=options)
except {caught}:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


def test_a_handler_for_a_torch_that_lacks_a_name_or_takes_less() -> None:
    for caught in ("(ImportError, TypeError)", "(ImportError, AttributeError)"):
        assert analyse(main(SHARDED + WITHOUT_NAMES.format(caught=caught))).codes == []
    assert "FSDP701" in analyse(main(SHARDED + WITHOUT_NAMES.format(caught="(TypeError, RuntimeError)"))).codes


REBUILT = """
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
try:
    prepare(config)
    {early}
except {caught}:
    print("as it was")
fully_shard(model)
{late}
model(torch.randn(2, 8)).sum().backward()
optimizer.step()
"""
NEW = "optimizer = torch.optim.AdamW(model.parameters())"
PREPARE = """
config = {"shape": [8]}
def prepare(config):
    if len(os.environ["SHAPE"]) != 1:
        raise ValueError("nothing to prepare")
"""


def test_what_is_only_there_where_something_failed_and_was_caught() -> None:
    """That a statement fails, whatever the error, is no proof of what follows from it."""
    for caught in ("Exception", "BaseException as error"):
        rebuilt = REBUILT.format(early="fully_shard(model.head); " + NEW, late=NEW, caught=caught)
        assert "FSDP601" not in analyse(main(rebuilt.replace("fully_shard(model)\n", ""), PREPARE)).codes
    certain = PREPARE.replace('if len(os.environ["SHAPE"]) != 1:', "if config:")
    stale = REBUILT.format(early="pass", late="", caught="Exception")
    assert "FSDP601" in analyse(main(stale, certain)).codes
    assert "FSDP601" in analyse(main(stale, PREPARE)).codes
