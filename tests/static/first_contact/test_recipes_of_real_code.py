"""Shapes of real projects in which planted faults were missed, each with what is right and looks like it."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse, script

# -- a package of the project with the name of a library, beside the script
TRAIN = script(
    """
    dist.init_process_group("gloo")
    model = Net()
    {first}
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    {last}
    run(model, torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()
    """,
    "from accelerate import run",
)
BUILT = "optimizer = torch.optim.AdamW(model.parameters())"
OWN = "def run(model, batch):\n    return model(batch)\n"


@pytest.mark.parametrize("name", ["accelerate.py", "accelerate/__init__.py"])
def test_a_package_of_the_project_goes_before_a_library(name: str) -> None:
    late, early = TRAIN.format(first="pass", last=BUILT), TRAIN.format(first=BUILT, last="pass")
    assert analyse({"train.py": early, name: OWN}).codes == ["FSDP601"]
    assert analyse({"train.py": late, name: OWN}).codes == []


# -- a state-dict helper of a model that is built in one of two branches
STATES = """
from torch.distributed.checkpoint.state_dict import get_state_dict
torch.manual_seed(int(os.environ["SEED"]))
model = Net() if os.environ["WIDE"] else Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.utils.data.DataLoader(torch.load("tokens.pt")):
    model(batch).sum().backward()
    {between}
    optimizer.step()
    optimizer.zero_grad()
    {after}
"""
READS = "_, state = get_state_dict(model, optimizer)"


def test_the_gradients_are_those_of_either_model() -> None:
    assert "FSDP704" in analyse(main(STATES.format(between=READS, after="pass"))).codes
    assert "FSDP704" not in analyse(main(STATES.format(between="pass", after=READS))).codes


# -- models of a library, whose parts initialise themselves in place
LIBRARY = """
with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(config)
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
{memory}
model.apply(lambda m: m.reset_parameters() if hasattr(m, "reset_parameters") else None)
optimizer = torch.optim.AdamW(model.parameters())
model(**batch).loss.backward()
optimizer.step()
"""
CONFIG = "from transformers import AutoConfig\nconfig = AutoConfig.from_pretrained('m')\nbatch = torch.load('b.pt')\n"


def test_an_initialiser_in_place_gives_no_memory() -> None:
    assert "FSDP202" in analyse(main(LIBRARY.format(memory="pass"), CONFIG)).codes
    assert "FSDP202" not in analyse(main(LIBRARY.format(memory='model.to_empty(device="cuda")'), CONFIG)).codes


# -- gathered in a loop behind a rank, after rounds of which it is not known whether they gather
AVERAGE = """
class Average:
    def __init__(self, model):
        self.model, self.shadow = model, {{}}

    def save(self):
        whole = {{}}
        if {guard}:
            for name, part in self.shadow.items():
                whole[name] = part.full_tensor()
        if dist.get_rank() == 0:
            torch.save(whole, "average.pt")

    def update(self):
        for name, part in self.model.named_parameters():
            self.shadow[name] = part.detach().clone()
"""
USED = f"""
{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
average = Average(model)
criterion = nn.CrossEntropyLoss()
for batch in torch.utils.data.DataLoader(torch.load("tokens.pt")):
    loss = criterion(model(batch).flatten(0, 1), batch.flatten())
    loss.backward()
    optimizer.step()
    average.update()
    whole = {{name: each.full_tensor() for name, each in model.state_dict().items()}}
average.save()
"""


def test_what_loops_gather_before_does_not_hide_a_rank() -> None:
    assert "FSDP801" in analyse(main(USED, AVERAGE.format(guard="dist.get_rank() == 0"))).codes
    assert "FSDP801" not in analyse(main(USED, AVERAGE.format(guard="True"))).codes


# -- blocks that a tokenizer cuts, the same on all ranks
BLOCKS = """
from datasets import load_dataset
from transformers import AutoTokenizer


class Blocks(torch.utils.data.Dataset):
    def __init__(self, blocks):
        self.blocks = [torch.tensor(block) for block in blocks]

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, at):
        return self.blocks[at]


def blocks(tokenizer, rows):
    found, left = [], []
    for row in rows:
        left.extend(tokenizer({text})["input_ids"])
        while len(left) >= 128:
            found.append(left[:128])
            left = left[128:]
    return Blocks(found)
"""
READ = f"""
{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
data = blocks(AutoTokenizer.from_pretrained("t"), load_dataset("d", split="train"))
for batch in torch.utils.data.DataLoader(data, batch_size=4):
    model(batch).sum().backward()
    optimizer.step()
"""


def test_a_tokenizer_makes_the_same_of_the_same() -> None:
    assert "FSDP808" in analyse(main(READ, BLOCKS.format(text='row["text"]'))).codes
    by_rank = BLOCKS.format(text='row["text"] + str(dist.get_rank())')
    assert "FSDP808" not in analyse(main(READ, by_rank)).codes


# -- an optimizer that has the root's own parameters in groups of their own
GROUPS = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model, reshard_after_forward=False)
groups = [{{"params": list(model.layers.parameters())}}{own}]
optimizer = torch.optim.AdamW(groups)
for batch in torch.utils.data.DataLoader(torch.load("tokens.pt")):
    model(batch).sum().backward()
    model.set_reshard_after_backward({after})
    {again}
    optimizer.step()
    optimizer.zero_grad()
"""
HEADS = ', {"params": list(model.embed.parameters())}, {"params": list(model.head.parameters())}'
AGAIN = "with torch.no_grad(): model(batch)"


@pytest.mark.parametrize("after", ["True", 'os.environ["FAST"] == ""'])
def test_a_root_whose_parameters_are_in_groups_of_their_own(after: str) -> None:
    assert "FSDP407" in analyse(script(GROUPS.format(own=HEADS, after=after, again=AGAIN))).codes
    assert "FSDP407" not in analyse(script(GROUPS.format(own=HEADS, after=after, again="pass"))).codes
    assert "FSDP407" not in analyse(script(GROUPS.format(own="", after=after, again=AGAIN))).codes


# -- what safetensors has written holds no shards
SAVED = f"""
{SHARDED}
{{load}}
import safetensors.torch
safetensors.torch.save_file({{{{name: each.full_tensor() for name, each in model.state_dict().items()}}}}, sys.argv[1])
{{more}}
"""
LOAD = 'model.load_state_dict(torch.load("start.pt"))'


def test_a_file_of_another_format_is_none_of_shards() -> None:
    text = SAVED.replace("each.full_tensor()", "each")
    assert "FSDP705" in analyse(main(text.format(load=LOAD, more="pass"))).codes
    own = "torch.save(model.state_dict(), sys.argv[2])"
    assert "FSDP705" not in analyse(main(SAVED.format(load=LOAD, more=own))).codes


# -- the place where the other ranks turn away
TWICE = f"""
{SHARDED}
is_main = dist.get_rank() == 0
seen = {{}}
for batch in torch.utils.data.DataLoader(torch.load("tokens.pt")):
    seen["loss"] = model(batch).sum()
    if is_main:
        seen.clear()
    if is_main:  # here
        report = dict(seen) if seen else None
        dist.barrier()
"""


def test_the_place_is_that_of_the_condition_itself() -> None:
    text = main(TWICE)
    (found,) = [each for each in analyse(text).result.findings if each.code == "FSDP801"]
    rows = [label.site.row for label in found.related]
    assert text.splitlines()[rows[0] - 1].strip().endswith("# here")


# -- batches that are made into others before they are trained on
MASKED = f"""
{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
data = torch.load("tokens.pt")
deal = torch.utils.data.DistributedSampler(data, num_replicas=dist.get_world_size(), rank={{rank}}, shuffle=False)
for batch in torch.utils.data.DataLoader(data, batch_size=4, sampler=deal):
    chosen = torch.rand(batch.shape) < 0.15
    model(torch.where(chosen, torch.full_like(batch, 3), batch)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_is_computed_of_a_batch_was_dealt_out_as_it() -> None:
    assert "FSDP808" in analyse(main(MASKED.format(rank='int(os.environ["LOCAL_RANK"])'))).codes
    assert analyse(main(MASKED.format(rank="dist.get_rank()"))).codes == []


# -- parameters by way of the optimizer that has them
BY_GROUPS = f"""
{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.utils.data.DataLoader(torch.load("tokens.pt")):
    model(batch).sum().backward()
    {{before}}
    optimizer.step()
    {{after}}
    optimizer.zero_grad()
"""
CLIPS = "nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group['params']], 1.0)"


def test_the_groups_of_an_optimizer_are_what_it_was_made_with() -> None:
    assert "FSDP612" in analyse(main(BY_GROUPS.format(before="pass", after=CLIPS))).codes
    assert analyse(main(BY_GROUPS.format(before=CLIPS, after="pass"))).codes == []
    alone = f"if dist.get_rank() == 0:\n        {CLIPS}"
    assert "FSDP801" in analyse(main(BY_GROUPS.format(before=alone, after="pass"))).codes
