"""What the measured behaviour of torch says."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import IMPORTS, SHARDED, main
from tests.static.program import analyse, script

# -- what the measured behaviour of torch says -------------------------------------------


def test_two_questions_about_one_model_exclude_each_other() -> None:
    """What passes the first is never asked the second: a model that is sharded has no ``module``."""
    before = """
    def wrapped(model):
        return isinstance(model, (DistributedDataParallel, FSDPModule))

    def whole(model):
        if isinstance(model, FSDPModule):
            return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        return model.state_dict()

    def build():
        return AutoModel.from_pretrained("m")
    """
    body = """
from models import make
model = make(sys.argv)
if len(sys.argv) > 2:
    fully_shard(model)
bare = model.module if wrapped(model) else model
if dist.get_rank() == 0:
    whole(bare)
"""
    assert "FSDP801" not in analyse(main(body, before)).codes
    assert (
        "FSDP801"
        in analyse(main(body.replace("whole(bare)", "whole(model)").replace("bare =", "# bare ="), before)).codes
    )


EVALUATED = """
@torch.inference_mode()
def evaluate(model, batches):
    for batch in batches:
        model(batch)


{model}
optimizer = torch.optim.AdamW(model.parameters())
batches = torch.load("batches.pt")
{first}
for epoch in range(3):
    {begin}
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    {end}
"""


@pytest.mark.parametrize("place, codes", [("first", ["FSDP406"]), ("begin", ["FSDP406"]), ("end", [])])
def test_the_first_forward_makes_the_buffers(place: str, codes: list[str]) -> None:
    places = {name: "evaluate(model, batches)" if name == place else "pass" for name in ("first", "begin", "end")}
    text = main(EVALUATED.format(model=SHARDED, **places))
    assert [code for code in analyse(text).codes if code == "FSDP406"] == codes


def test_replicas_that_nobody_trains_stay_equal() -> None:
    body = """
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
model = AutoModel.from_pretrained("m")
for layer in model.layers:
    fully_shard(layer, mesh=mesh["shard"])
fully_shard(model, mesh=mesh["shard"])
"""
    trained = "optimizer = torch.optim.AdamW(model.parameters())\nmodel(1).sum().backward()\noptimizer.step()\n"
    assert "FSDP308" not in analyse(main(body + "with torch.no_grad():\n    model(1)\n")).codes
    assert "FSDP308" in analyse(main(body + trained)).codes


def test_a_check_of_the_rank_somewhere_else_says_nothing_here() -> None:
    body = f"""{SHARDED}
def for_rank_0():
    if dist.get_rank() != 0:
        raise RuntimeError("for rank 0 alone")
if len(sys.argv) > 2:
    for_rank_0()
if dist.get_rank() == 0:
    dist.barrier()
"""
    assert analyse(main(body)).codes == ["FSDP801"]


def test_a_hook_may_reduce_what_no_group_reduces() -> None:
    body = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
def average(parameter):
    dist.all_reduce(parameter.grad)
for parameter in model.{part}.parameters():
    parameter.register_post_accumulate_grad_hook(average)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2)).sum().backward()
optimizer.step()
"""
    assert analyse(main(body.format(part="head"))).codes == []
    assert analyse(main(body.format(part="head").replace("parameter.register", "pass # "))).codes == ["FSDP303"]


def test_a_script_has_no_process_group_before_it_makes_one() -> None:
    asks = """
if dist.is_initialized():
    fully_shard(model)
for parameter in model.parameters():
    print(parameter.norm().item())
"""
    alone = script("model = Net()" + asks, IMPORTS)
    assert analyse(alone).codes == []
    assert "FSDP603" in analyse(main("model = Net()" + asks)).codes
    assert (
        "FSDP603" in analyse(alone.replace("model = Net()", "from jobs import start; start()\n    model = Net()")).codes
    )


def test_a_lambda_that_is_not_worth_to_run() -> None:
    text = f"total = (lambda rows: [row for row in rows])([1, 2])\n{SHARDED}torch.save(model.state_dict(), 'model.pt')"
    assert analyse(main(text)).codes == ["FSDP701"]


@pytest.mark.parametrize("made", [
    "dict(model.named_modules())",
    "{name: part for name, part in model.named_modules()}",
    "dict(list(model.named_modules()))",
])  # fmt: skip
def test_names_choose_the_order(made: str) -> None:
    before = f"""
    def shard(model, names):
        parts = {made}
        for name in names:
            fully_shard(parts[name])
        fully_shard(model)
    """
    assert "FSDP302" not in analyse(main("shard(Net(), sys.argv[1].split(','))\n", before)).codes


def test_modules_come_in_their_own_order() -> None:
    body = "model = Net()\nfor name, part in dict(model.named_modules()).items():\n    fully_shard(part)\n"
    assert "FSDP302" in analyse(main(body)).codes


def rows(count: int, own: str) -> str:
    """A table with a row per way to train: each of its fields is read apart from the others."""
    plain = "".join(f"    'plain{at}': {{'how': 'fsdp2', 'small': False}},\n" for at in range(count))
    return f"WAYS = {{\n{plain}    'own': {{'how': '{own}', 'small': True}},\n}}\n"


@pytest.mark.parametrize("count", [2, 7, 12])
@pytest.mark.parametrize("own, codes", [("ddp", []), ("fsdp2", ["FSDP608"])])
def test_what_one_row_of_a_table_says_is_said_together(count: int, own: str, codes: list[str]) -> None:
    body = """
from bitsandbytes.optim import Adam8bit
way = WAYS[sys.argv[1]]
model = Net()
if way["how"] == "fsdp2":
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
else:
    model = DistributedDataParallel(model)
optimizer = Adam8bit(model.parameters()) if way["small"] else torch.optim.AdamW(model.parameters())
"""
    assert analyse(main(body, rows(count, own))).codes == codes


@pytest.mark.parametrize("leads, codes", [("if dist.get_rank() == 0:", []), ("if len(sys.argv) > 1:", ["FSDP807"])])
def test_an_error_where_one_rank_is_alone(leads: str, codes: list[str]) -> None:
    body = f"""{SHARDED}
for batch in torch.load("batches.pt"):
    {leads}
        try:
            model(batch)
        except Exception:
            continue
"""
    assert [code for code in analyse(main(body)).codes if code == "FSDP807"] == codes


def test_a_writer_that_cannot_write_shards_says_so() -> None:
    body = f"from safetensors.torch import save_file\n{SHARDED}save_file(model.state_dict(), 'model.st')"
    (found,) = analyse(main(body)).result.findings
    assert found.code == "FSDP701" and found.severity.value == "error" and "raises" in found.message


def test_every_rank_takes_its_own_part_of_a_loop() -> None:
    body = f"""{SHARDED}
mine = [at for at in range(64) if at % dist.get_world_size() == dist.get_rank()]
sums = {{}}
for at in mine:
    sums["loss"] = sums.get("loss", 0.0) + at
for name in sums:
    dist.all_reduce(torch.tensor(sums[name]))
"""
    assert "FSDP801" not in analyse(main(body)).codes


@pytest.mark.parametrize("reads", [
    "value = torch.tensor(any(torch.isnan(p.grad).sum() for p in model.parameters()))",
    "value = torch.tensor(sum(p.grad.norm().item() ** 2 for p in model.parameters()))",
    "total = 0.0\nfor p in model.parameters():\n    total += p.grad.norm().item() ** 2\nvalue = torch.tensor([total])",
    "value = torch.tensor(local_norm(model))",
])  # fmt: skip
def test_what_each_rank_reads_is_added_up(reads: str) -> None:
    helper = """
    def local_norm(model):
        total = 0.0
        for p in model.parameters():
            total += float(p.grad.norm()) ** 2
        return total
    """
    body = f"{SHARDED}model(torch.ones(2)).sum().backward()\n{reads}\n"
    assert "FSDP603" not in analyse(main(body + "dist.all_reduce(value)\n", helper)).codes
    assert "FSDP603" in analyse(main(body + "print(value)\ndist.all_reduce(torch.ones(1))\n", helper)).codes


def test_a_decision_that_each_rank_takes_by_itself() -> None:
    body = f"{SHARDED}model(torch.ones(2)).sum().backward()\nloss = torch.ones(1)\nfor p in model.parameters():\n"
    body += "    if torch.isnan(p.grad).sum():\n        loss = torch.zeros(1)\ndist.all_reduce(loss)\n"
    assert "FSDP603" in analyse(main(body)).codes


def test_a_hook_may_reduce_what_is_attached_later() -> None:
    body = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
model.extra = nn.Linear(8, 8)
def average(gradient):
    dist.all_reduce(gradient)
    return gradient / dist.get_world_size()
for name, parameter in model.named_parameters():
    if "extra" in name:
        parameter.register_hook(average)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2)).sum().backward()
optimizer.step()
"""
    assert "FSDP304" not in analyse(main(body)).codes
    assert "FSDP304" in analyse(main(body.replace("parameter.register_hook(average)", "print(name)"))).codes


def test_a_hook_may_reduce_what_adapters_add() -> None:
    body = """
from peft import LoraConfig, get_peft_model
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
adapted = get_peft_model(model, LoraConfig())
for name, parameter in adapted.named_parameters():
    {reduced}
optimizer = torch.optim.AdamW(adapted.parameters())
adapted(torch.ones(2)).sum().backward()
optimizer.step()
"""
    start = "model = Net()\n"
    by_hand = "parameter.register_hook(lambda gradient: dist.all_reduce(gradient))"
    assert "FSDP304" not in analyse(main(start + body.format(reduced=by_hand))).codes
    assert "FSDP304" in analyse(main(start + body.format(reduced="print(name)"))).codes


def test_parameters_that_are_gathered_before_a_plan_splits_them() -> None:
    body = """
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("dp", "tp"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh["dp"])
fully_shard(model, mesh=mesh["dp"])
def gathered(model):
    for module in model.modules():
        if isinstance(module, FSDPModule):
            {gather}
        yield module
for module in gathered(model):
    pass
parallelize_module(model.head, mesh["tp"], ColwiseParallel())
"""
    assert "FSDP309" not in analyse(main(body.format(gather="module.unshard()"))).codes
    assert "FSDP309" in analyse(main(body.format(gather="print(module)"))).codes
