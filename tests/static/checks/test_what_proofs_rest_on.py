"""Answers that rested on the wrong thing, as programs of our own."""

from __future__ import annotations

import pytest

from tests.static.program import Analysis, analyse, script

MAIN = """
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(9000, 9000) for _ in range(40)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

{first}
model = Wide()
for layer in {layers}:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 9000)).sum().backward()
optimizer.step()
held = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
"""
NCCL = 'dist.init_process_group("nccl")'
GLOO = 'dist.init_process_group("gloo")'
EITHER = f"if torch.cuda.is_available():\n    {NCCL}\nelse:\n    {GLOO}"


def judged(first: str = NCCL, layers: str = "model.layers") -> Analysis:
    return analyse(script(MAIN.format(first=first, layers=layers)))


def test_a_job_that_may_run_on_gpus_gathers_there() -> None:
    """FSDP702: that the script falls back to gloo says nothing of the other path."""
    assert "FSDP702" in judged(NCCL).codes and "FSDP702" in judged(EITHER).codes
    assert "FSDP702" not in judged(GLOO).codes


def test_a_list_that_may_hold_a_layer_twice() -> None:
    """FSDP305 is upheld where a loop comes to each layer once."""
    assert judged().verdicts("FSDP305") == {"upheld"}
    assert "upheld" not in judged(layers="list(model.layers) + [model.layers[0]]").verdicts("FSDP305")


def test_seeds_of_ranks_are_a_fault_on_whatever_mesh() -> None:
    """FSDP203: where the mesh is not known, the weaker of the two is certain."""
    mesh = "dist.device_mesh.init_device_mesh('cuda', (2, 8) if os.environ.get('NODES') else (8,))"
    seeded = f"{NCCL}\ntorch.manual_seed(dist.get_rank())\nmesh = {mesh}"
    text = MAIN.replace("fully_shard(layer)", "fully_shard(layer, mesh=mesh)").replace(
        "fully_shard(model)", "fully_shard(model, mesh=mesh)"
    )
    assert "FSDP203" in analyse(script(text.format(first=seeded, layers="model.layers"))).codes


SAVES = """
dist.init_process_group("nccl")
model = Net()
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8, dtype=torch.long)).sum().backward()
optimizer.step()
{}
"""


@pytest.mark.parametrize("part", [
    "p.to_local()", "p.to_local().detach().cpu()", "p.data.to_local().clone()", "p.grad.to_local().float()",
])  # fmt: skip
def test_a_rank_s_own_part_is_its_shard(part: str) -> None:
    """FSDP701: that it is no DTensor any more does not make it whole."""
    saved = f"torch.save({{n: {part} for n, p in model.named_parameters()}}, 'a.pt')"
    assert "FSDP701" in analyse(script(SAVES.format(saved))).codes


@pytest.mark.parametrize("part", ["p.to_local().norm()", "p.to_local().shape", "p.full_tensor().cpu()"])
def test_what_is_computed_of_it_is_none(part: str) -> None:
    saved = f"torch.save({{n: {part} for n, p in model.named_parameters()}}, 'a.pt')"
    assert "FSDP701" not in analyse(script(SAVES.format(saved))).codes


ADAPTED = """
dist.init_process_group("nccl")
model = AutoModelForCausalLM.from_pretrained("some/model", torch_dtype={})
model = get_peft_model(model, LoraConfig(r=8))
for layer in model.base_model.model.model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
model(torch.ones(1, 8, dtype=torch.long)).loss.backward()
optimizer.step()
"""
PEFT = "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM\n"


def test_in_which_dtype_adapters_are_made_is_not_known() -> None:
    """FSDP501: older versions of PEFT make them in that of the model, newer ones in float32."""
    assert analyse(script(ADAPTED.format("torch.bfloat16"), PEFT)).verdicts("FSDP501") == {"unknown"}
    assert analyse(script(ADAPTED.format("torch.float32"), PEFT)).verdicts("FSDP501") == {"upheld"}


DEFAULT = """
class Deep(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(9000, 9000, {own}) for _ in range(40)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

dist.init_process_group("nccl")
torch.set_default_device("cuda")
model = Deep("meta")
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""


def test_layers_that_name_their_device_are_not_on_the_default_one() -> None:
    """FSDP206."""
    assert "FSDP206" not in analyse(script(DEFAULT.format(own="device=device"))).codes
    assert "FSDP206" in analyse(script(DEFAULT.format(own="bias=True"))).codes


GATHERED = """
from torch.distributed.tensor import DTensor

def whole(tensor):
    return {0} if isinstance(tensor, DTensor) else {1}

class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Parameter(torch.zeros(4, 64))
        self.up = nn.Parameter(torch.zeros(64, 4))

    def forward(self, x):
        return x @ self.down.t() @ self.up.t()

def export(model):
    return [whole(each.up) @ whole(each.down) for each in model.modules() if isinstance(each, Adapter)]
"""
EXPORTED = """
dist.init_process_group("nccl")
model = nn.Sequential(nn.Linear(64, 64), Adapter())
fully_shard(model)
export(model)
"""


@pytest.mark.parametrize(("shard", "plain", "found"), [
    ("tensor.full_tensor()", "tensor", False),
    ("tensor", "torch.ones(8)", True),
])  # fmt: skip
def test_a_weight_that_is_asked_whether_it_is_a_shard(shard: str, plain: str, found: bool) -> None:
    text = script(EXPORTED, GATHERED.format(shard, plain))
    assert ("violated" in analyse(text).verdicts("FSDP404")) is found


FUNCTIONS = """
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from transformers import AutoConfig, AutoModelForCausalLM
dist.init_process_group("nccl")
config = AutoConfig.from_pretrained("some/model")
with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(config)
fully_shard(model)
model.to_empty(device="cuda")
{}
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(1, 4).long()).logits.sum().backward()
optimizer.step()
"""


TABLES = """
for module in model.modules():
    table = getattr(module, "make_table", None)
    if table is not None:
        module.register_buffer("table", table(module.config)[0], persistent=False)
set_model_state_dict(model, torch.load('x'), options=StateDictOptions(full_state_dict=True))
"""


@pytest.mark.parametrize(("then", "found"), [(TABLES, False), ("pass", True)])
def test_an_attribute_of_an_unseen_class_may_be_a_function(then: str, found: bool) -> None:
    assert ("violated" in analyse(script(FUNCTIONS.format(then))).verdicts("FSDP201")) is found


AVERAGE = """
class Average:
    def __init__(self, model, other):
        self.target, self.source = list(model.parameters()), list(other.parameters())
        self.pairs = {}

    def update(self):
        for mine, other in self.pairs:
            mine.detach().lerp_(other.detach(), 0.1)
"""
AVERAGED = """
dist.init_process_group("nccl")
model, other = Net(), Net()
for each in (model, other):
    fully_shard(each)
average = Average(model, other)
optimizer = torch.optim.AdamW(other.parameters())
for step in range(10):
    other(torch.zeros(1, 4).long()).sum().backward()
    optimizer.step()
    average.update()
"""


@pytest.mark.parametrize(("pairs", "found"), [
    ("zip(model.parameters(), other.parameters())", True),
    ("list(zip(model.parameters(), other.parameters()))", False),
    ("[*zip(self.target, self.source)]", False),
])  # fmt: skip
def test_rows_of_zip_are_read_once(pairs: str, found: bool) -> None:
    verdicts = analyse(script(AVERAGED, AVERAGE.format(pairs))).verdicts("FSDP607")
    assert ("violated" in verdicts) is found


READ_UNSEEN = """
dist.init_process_group("nccl")
model = Net()
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
kept = model.parameters()
{}
"""


@pytest.mark.parametrize(("use", "word"), [
    ("for _ in range(3):\n    eval('print(kept)')", "unknown"),
    ("eval('print(kept)')\ntorch.nn.utils.clip_grad_norm_(kept, 1.0)", "unknown"),
    ("torch.nn.utils.clip_grad_norm_(kept, 1.0)\neval('print(kept)')", "unknown"),
    ("torch.nn.utils.clip_grad_norm_(kept, 1.0)\nlist(kept)", "violated"),
    ("eval('print(kept)')", "upheld"),
    ("for _ in range(3):\n    kept = model.parameters()\n    eval('print(kept)')", "upheld"),
])  # fmt: skip
def test_code_that_is_not_seen_may_read_what_it_is_given(use: str, word: str) -> None:
    assert analyse(script(READ_UNSEEN.format(use))).verdicts("FSDP607") == {word}


EMPTY = """
class Rescale(nn.Module):
    def forward(self, x):
        return 2 * x

dist.init_process_group("nccl")
with torch.device("meta"):
    model = Rescale()
fully_shard(model)
model(torch.zeros(1))
"""


def test_a_meta_model_without_parameters_needs_no_memory() -> None:
    """And it is no defect of the tool that nothing writes them."""
    assert analyse(script(EMPTY)).verdicts("FSDP202") <= {"upheld"}


BRANCH_OF_A_SCRIPT = """
dist.init_process_group("nccl")
model = Net()
fully_shard(model)
params = model.parameters()
if os.environ.get("OPTIMIZER") == "sgd":
    optimizer = torch.optim.SGD(params, lr=0.1)
else:
    optimizer = torch.optim.AdamW(params)
optimizer.step()
"""


def test_a_branch_of_a_script_is_not_run_ahead() -> None:
    """The side that has no optimizer yet looked for it further down, and built both once more."""
    seen = analyse(script(BRANCH_OF_A_SCRIPT))
    assert seen.verdicts("FSDP607") == {"upheld"}


HANDED = """
import pickle
import mystery

dist.init_process_group("nccl")
{before}model = Net()
optimizer = torch.optim.AdamW(model.parameters())
fully_shard(model)
model.to("cuda")
model(torch.ones(1, 8, dtype=torch.long)).sum().backward()
{step}
"""
CLIPS = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


@pytest.mark.parametrize(("before", "step", "code", "found"), [
    ("", "optimizer.step()", "FSDP601", True),
    ("", "mystery.call(optimizer.step)", "FSDP601", False),
    ("", "print(optimizer.step)", "FSDP601", True),
    ("", "optimizer.step()", "FSDP101", True),
    ("pickle.load(open('calls.pkl', 'rb'))['start']()\n", "optimizer.step()", "FSDP101", False),
    ("", f"optimizer.step()\n{CLIPS}", "FSDP612", True),
    ("", f"optimizer.step()\nmystery.call(lambda: {CLIPS})", "FSDP612", False),
])  # fmt: skip
def test_methods_and_functions_in_unseen_hands(before: str, step: str, code: str, found: bool) -> None:
    assert (code in analyse(script(HANDED.format(before=before, step=step))).codes) is found


MESHES = """
import mystery

dist.init_process_group("nccl")
mesh = {}
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh["shard"])
fully_shard(model{})
torch.optim.AdamW(model.parameters()).step()
"""
KNOWN = 'dist.device_mesh.init_device_mesh("cuda", (8,), mesh_dim_names=("shard",))'


@pytest.mark.parametrize(("mesh", "root", "word"), [
    (KNOWN, ', mesh=mesh["shard"]', "upheld"),
    ("mystery.mesh()", ', mesh=mesh["shard"]', "unknown"),
    ("mystery.mesh()", "", "unknown"),
])  # fmt: skip
def test_meshes_that_are_not_known_are_not_upheld(mesh: str, root: str, word: str) -> None:
    assert analyse(script(MESHES.format(mesh, root))).verdicts("FSDP308") == {word}


def test_unseen_code_may_shard_a_container() -> None:
    text = "import mystery\ndist.init_process_group('nccl')\nmodel = Net()\nfully_shard(model)\n{}"
    assert analyse(script(text.format(""))).verdicts("FSDP306") == {"upheld"}
    assert analyse(script(text.format("mystery.finish(model)\n"))).verdicts("FSDP306") == {"unknown"}


SUMMED = """\
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torch.optim.lr_scheduler import ReduceLROnPlateau

if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = nn.Linear(8, 8)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = ReduceLROnPlateau(optimizer)
    data = TensorDataset(torch.randn(8, 8))
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    for epoch in range(20):
        total = 0.0
        for x, in loader:
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step(total)
"""


def test_what_a_loop_of_a_script_sums_up_is_not_what_it_began_with() -> None:
    assert "FSDP617" in analyse({"train.py": SUMMED}).codes
