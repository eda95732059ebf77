"""Tables of classes, names and functions, and what they give for a key that is not in them."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

PLAN = """
kinds = {table}
model = Net()
for module in list(model.modules()):
    wrap = {asked}
    if {wanted}:
        wrap(module)
fully_shard(model)
"""
BY_CLASS = [
    ("{nn.Linear: fully_shard}", "kinds.get(type(module))", "wrap is not None"),
    ("{nn.Linear: fully_shard, nn.Embedding: fully_shard}", "kinds.get(module.__class__)", "wrap"),
    ("{nn.Linear: [fully_shard]}", "next(iter(kinds.get(type(module), [])), None)", "wrap is not None"),
    ("dict([(nn.Linear, fully_shard)])", "kinds.get(type(module), False)", "wrap is not False"),
    ("{nn.Linear: fully_shard}", "fully_shard", "type(module) in kinds"),
]


@pytest.mark.parametrize("table, asked, wanted", BY_CLASS)
def test_only_what_is_in_a_table_of_classes_is_sharded(table: str, asked: str, wanted: str) -> None:
    text = PLAN.format(table=table, asked=asked, wanted=wanted)
    assert not {"FSDP302", "FSDP305"} & set(analyse(main(text)).codes)


def test_the_class_of_the_model_in_the_table() -> None:
    text = PLAN.format(
        table="{nn.Linear: fully_shard, Net: fully_shard}", asked="kinds.get(type(module))", wanted="wrap"
    )
    assert {"FSDP302", "FSDP305"} & set(analyse(main(text)).codes)


DEFAULT = """
kind = {kind}
table = {table}
model = Net()
if kind == "fsdp":
    fully_shard(model)
if {gathers}:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
KINDS = ["sys.argv[1]", 'os.environ.get("KIND") or "ddp"', 'sys.argv[1] if len(sys.argv) > 1 else "none"']


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table, gathers", [
    ('{"fsdp": True}', "table.get(kind, False)"),
    ('{"fsdp": 1, "hsdp": 2}', "table.get(kind, 0) > 0"),
    ('{"fsdp": fully_shard}', "table.get(kind) is not None"),
    ('{"fsdp": fully_shard, "ddp": None}', "table.get(kind)"),
])  # fmt: skip
def test_what_a_table_gives_for_other_keys(kind: str, table: str, gathers: str) -> None:
    assert "FSDP701" not in analyse(main(DEFAULT.format(kind=kind, table=table, gathers=gathers))).codes
    faulty = DEFAULT.format(kind=kind, table=table.replace("fsdp", "zero"), gathers=gathers)
    assert "FSDP701" in analyse(main(faulty)).codes


def test_an_empty_table_gives_the_default() -> None:
    assert "FSDP701" in analyse(main(DEFAULT.format(kind=KINDS[0], table="{}", gathers="table.get(kind, 0)"))).codes
