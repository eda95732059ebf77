"""Handlers, predicates and choices know why they run."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

# -- a handler knows why it runs ----------------------------------------------------


def gathered(caught: str, how: str = "value = tensor.full_tensor()", kept: str = "value = tensor") -> str:
    return main(f"""{SHARDED}
whole = {{}}
for name, tensor in model.state_dict().items():
    try:
        {how}
    {caught}
        {kept}
    whole[name] = value.cpu()
torch.save(whole, "model.pt")
""")


def test_what_has_no_full_tensor_is_no_shard() -> None:
    assert analyse(gathered("except AttributeError:")).codes == []
    assert analyse(gathered("except AttributeError as error:", kept="value = tensor.detach()")).codes == []


def test_a_handler_of_what_a_helper_tried() -> None:
    helper = """
    def whole_of(tensor):
        return tensor.full_tensor().cpu()
    """
    body = f"""{SHARDED}
held = model.state_dict()
try:
    held = {{name: whole_of(tensor) for name, tensor in held.items()}}
except AttributeError:
    pass
torch.save(held, "model.pt")
"""
    assert analyse(main(body, helper)).codes == []


@pytest.mark.parametrize("caught", ["except:", "except Exception:", "except (AttributeError, RuntimeError):"])
def test_a_handler_of_anything_leaves_open_whether_it_holds_a_shard(caught: str) -> None:
    assert analyse(gathered(caught)).codes == []


def test_a_gathering_that_failed_leaves_a_shard() -> None:
    assert analyse(gathered("except RuntimeError:")).codes == ["FSDP701"]
    assert analyse(gathered("except AttributeError:", how="value = tensor.clone()")).codes == ["FSDP701"]


def test_a_value_that_is_read_where_no_dtensor_came() -> None:
    body = f"""{SHARDED}
for tensor in model.parameters():
    try:
        tensor = tensor.full_tensor()
    except AttributeError:
        pass
    if math.isnan(tensor.sum()):
        print("broken")
"""
    assert analyse(main(body)).codes == []
    assert analyse(main(body.replace("AttributeError", "RuntimeError"))).codes == ["FSDP603"]


# -- a predicate says what it asks, also where it is denied ----------------------------

PREDICATE = """
class Watch:
    def __init__(self, model):
        self.model = model

    def is_split(self, tensor):
        return HAS_DTENSOR and isinstance(tensor, DTensor)

    def whole(self, tensor):
        return tensor.full_tensor() if self.is_split(tensor) else tensor

    def broken(self):
        return [tensor for tensor in self.model.parameters() if bool(self.whole(tensor.data).isnan().any())]

    def stop(self):
        for tensor in self.model.parameters():
            if math.isnan(self.whole(tensor).sum()):
                raise ValueError
"""


@pytest.mark.parametrize("use", ["Watch(model).broken()", "Watch(model).stop()"])
def test_a_predicate_behind_a_flag(use: str) -> None:
    assert analyse(main(SHARDED + use, PREDICATE)).codes == []
    wrong = PREDICATE.replace("if self.is_split(tensor) else tensor", "if self.model.training else tensor")
    assert analyse(main(SHARDED + "Watch(model).stop()", wrong)).codes == ["FSDP603"]


SPLIT = """
def is_split(model):
    if isinstance(model, FSDPModule):
        return True
    return False

def save(models, path):
    if not isinstance(models, list):
        models = [models]
    for number, model in enumerate(models):
        if not is_split(model):
            torch.save(model.state_dict(), f"{path}/{number}.pt")
"""
DDP_OR_SHARDS = """
model = Net().cuda()
if dist.get_world_size() > 1:
    if "--ddp" in sys.argv:
        model = DistributedDataParallel(model)
    else:
        for layer in model.layers:
            fully_shard(layer)
        model = fully_shard(model)
"""


def test_arms_that_only_isinstance_tells_apart() -> None:
    assert "FSDP701" not in analyse(main(DDP_OR_SHARDS + 'save(model, "out")', SPLIT)).codes
    swapped = SPLIT.replace("if not is_split(model)", "if is_split(model)")
    assert "FSDP701" in analyse(main(DDP_OR_SHARDS + 'save(model, "out")', swapped)).codes


def test_a_predicate_that_returns_early() -> None:
    asked = """
    def plain(model):
        if model is None:
            return False
        if isinstance(model, FSDPModule):
            return False
        return True
    """
    use = """
if plain(model):
    torch.save(model.state_dict(), "model.pt")
"""
    assert "FSDP701" not in analyse(main(DDP_OR_SHARDS + use, asked)).codes
    assert "FSDP701" in analyse(main(DDP_OR_SHARDS + use.replace("if plain", "if not plain"), asked)).codes


# -- one choice in one state -----------------------------------------------------------

MESHES = """
class Dims:
    def __init__(self, copies):
        self.copies = copies
        self.both = init_device_mesh("cuda", (2, 4), mesh_dim_names=("rep", "shard"))

    @property
    def copied(self):
        return self.copies > 1

def mesh_of(dims):
    if dims.copied:
        return dims.both
    return dims.both["shard"]
"""


def test_two_calls_of_a_helper_choose_the_same_mesh() -> None:
    body = """
dims = Dims(int(sys.argv[1]))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh_of(dims))
fully_shard(model, mesh=mesh_of(dims))
"""
    assert "FSDP308" not in analyse(main(body, MESHES)).codes
    mixed = body.replace("fully_shard(model, mesh=mesh_of(dims))", 'fully_shard(model, mesh=dims.both["rep"])')
    assert "FSDP308" in analyse(main(mixed, MESHES)).codes


def test_a_helper_that_chooses_by_a_conditional_expression() -> None:
    short = MESHES.replace(
        '    if dims.copied:\n        return dims.both\n    return dims.both["shard"]',
        '    return dims.both if dims.copied else dims.both["shard"]',
    )
    body = """
dims = Dims(int(sys.argv[1]))
blocks, root = mesh_of(dims), mesh_of(dims)
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=blocks)
fully_shard(model, mesh=root)
"""
    assert "FSDP308" not in analyse(main(body, short)).codes


@pytest.mark.parametrize("mode, found", [("fsdp1", 0), ("fsdp2", 1)])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_keyword_that_several_settings_put_into_a_dict(mode: str, found: int, times: int) -> None:
    """It is there on all of their paths and on no other, and the dict is one place to mend."""
    before = """
import argparse

def build(model, mode, **kwargs):
    if mode == "fsdp2":
        given = {"reshard_after_forward": True, **kwargs.pop("given", {})}
        for layer in model.layers:
            fully_shard(layer, **given)
        fully_shard(model, **given)
"""
    puts = "".join(f"if args.frozen_{n}:\n    if args.mode == '{mode}':\n        given['use_orig_params'] = True\n"
                   for n in range(times))  # fmt: skip
    body = f"""
args = argparse.ArgumentParser().parse_args()
model = Net()
given = {{}}
{puts}
build(model, args.mode, given=given)
"""
    assert analyse(main(body, before)).codes.count("FSDP902") == found
