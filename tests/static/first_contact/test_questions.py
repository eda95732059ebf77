"""Questions that may tell sharded models from others."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

# -- questions that may tell sharded models from others -----------------------------------


ASKS = """
def is_split(model):
    for parameter in model.parameters():
        if {asks}:
            return True
    return False


def state_of(model, mesh):
    if is_split(model):
        return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    return model.state_dict()
"""
WRITES = """
with open("config.yaml") as file:
    config = yaml.safe_load(file)
mesh = init_device_mesh("cuda", (config["replicas"], config["shards"]), mesh_dim_names=("replicate", "shard"))
model = Net()
if config["sharded"]:
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
state = {state}
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


@pytest.mark.parametrize("asks", [
    "type(parameter).__name__ == 'DTensor'",
    "type(parameter) is DTensor",
    "isinstance(parameter, DTensor)",
    "hasattr(parameter, 'full_tensor')",
    "'DTensor' in type(parameter).__name__",
    "type(parameter.data).__name__.endswith('DTensor')",
])  # fmt: skip
def test_a_model_is_asked_what_its_parameters_are(asks: str) -> None:
    assert analyse(main(WRITES.format(state="state_of(model, mesh)"), ASKS.format(asks=asks))).codes == []


@pytest.mark.parametrize("asks", [
    "mesh['shard'].size() > 1", "mesh.ndim > 1", "'shard' in mesh.mesh_dim_names", "any(n > 1 for n in mesh.shape)",
])  # fmt: skip
def test_a_mesh_is_asked_whether_it_shards(asks: str) -> None:
    state = f"state_of(model, mesh) if {asks} else model.state_dict()"
    assert analyse(main(WRITES.format(state=state), ASKS.format(asks="isinstance(parameter, DTensor)"))).codes == []


@pytest.mark.parametrize("asks", ["config['whole']", "len(sys.argv) > 1", "dist.get_world_size() > 8"])
def test_a_setting_does_not_say_whether_a_model_is_sharded(asks: str) -> None:
    state = f"model.state_dict() if {asks} else state_of(model, mesh)"
    assert analyse(main(WRITES.format(state=state), ASKS.format(asks="isinstance(parameter, DTensor)"))).codes == [
        "FSDP701"
    ]


SLICED = """
mesh = init_device_mesh("cuda", {made})
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh[{on}])
fully_shard(model, mesh=mesh[{on}])
if {asks}:
    torch.save(model.state_dict(), "model.pt")
"""
NAMED = '(2, 2, 2), mesh_dim_names=("pp", "ep", "fsdp")'


@pytest.mark.parametrize("asks", ["mesh['pp'].size() == 1", "mesh['pp'].ndim > 0", "not mesh['pp', 'ep'].size() > 1"])
def test_a_slice_of_the_mesh_along_other_dimensions_does_not_say_whether_a_model_is_sharded(asks: str) -> None:
    assert "FSDP701" in analyse(main(SLICED.format(made=NAMED, on="'fsdp'", asks=asks))).codes


@pytest.mark.parametrize(
    ("made", "on", "asks"),
    [
        (NAMED, "'fsdp'", "mesh['fsdp'].size() == 1"),
        (NAMED, "'ep', 'fsdp'", "mesh['ep'].size() == 1"),
        (NAMED, "'fsdp'", "mesh.size() == 1"),
        (NAMED, "'dp_flat'", "mesh['ep'].size() == 1"),  # a flattened dimension may hold any other
        ("(2, 2), mesh_dim_names=tuple(sys.argv[1:])", "'fsdp'", "mesh['ep'].size() == 1"),
    ],
)
def test_a_slice_that_may_share_a_dimension_may_say_it(made: str, on: str, asks: str) -> None:
    assert "FSDP701" not in analyse(main(SLICED.format(made=made, on=on, asks=asks))).codes


KINDS = """
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
{asks}
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
{uses}
"""


@pytest.mark.parametrize("asks", [
    "if model.config.model_type not in ('llama', 'qwen3'):\n    raise ValueError(model.config.model_type)",
    "own = sys.argv[2] == 'own'\nif own and model.config.model_type != 'llama':\n    raise ValueError('only llama')",
    "if not isinstance(model, LlamaForCausalLM):\n    return",
])  # fmt: skip
@pytest.mark.parametrize(("uses", "code"), [
    ("with model.unshard():\n    print(model)", "FSDP909"),
    ("context = model.no_sync()", "FSDP605"),
])  # fmt: skip
def test_what_is_asked_before_it_is_sharded_chooses_nothing(asks: str, uses: str, code: str) -> None:
    assert code in analyse(main(KINDS.format(asks=asks, uses=uses))).codes


@pytest.mark.parametrize(("uses", "code"), [
    ("with model.unshard():\n        print(model)", "FSDP909"),
    ("context = model.no_sync()", "FSDP605"),
])  # fmt: skip
def test_what_is_asked_after_it_may_choose(uses: str, code: str) -> None:
    asked = f"if type(model).__name__ == sys.argv[2]:\n    {uses}"
    assert code not in analyse(main(KINDS.format(asks="", uses=asked))).codes
