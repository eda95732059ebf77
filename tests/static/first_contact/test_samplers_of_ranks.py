"""Samplers that deal out the data: by which rank, and with which seed."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

HELPERS = """
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from unseen import rank_of_data

SEED = 42
"""
TRAINED = """
rank, world = dist.get_rank(), dist.get_world_size()
local = int(os.environ["LOCAL_RANK"])
mesh = init_device_mesh("cuda", (world,))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 8))
sampler = {sampler}
loader = DataLoader(data, batch_size=8, sampler=sampler)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for rows, targets in loader:
        F.mse_loss(model(rows), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
"""
OWN_SEED = [
    "DistributedSampler(data, seed=SEED + rank)",
    "DistributedSampler(data, world, rank, True, rank)",
    "DistributedSampler(data, num_replicas=world, rank=rank, shuffle=True, seed=1000 * rank + 7)",
]
ONE_SEED = [
    "DistributedSampler(data)",
    "DistributedSampler(data, seed=SEED)",
    "DistributedSampler(data, seed=SEED + world)",
    "DistributedSampler(data, seed=SEED + rank, shuffle=False)",
    "DistributedSampler(data, num_replicas=1, rank=0, seed=SEED + rank)",
    "DistributedSampler(data, world, rank_of_data(), seed=SEED + rank)",
]
BY_NODE = [
    "DistributedSampler(data, num_replicas=world, rank=local)",
    "DistributedSampler(data, rank=int(os.environ['LOCAL_RANK']))",
    "DistributedSampler(data, rank=dist.get_node_local_rank())",
]


def codes(sampler: str, *more: str) -> list[str]:
    return analyse(main("\n".join(more) + TRAINED.replace("{sampler}", sampler), HELPERS)).codes


@pytest.mark.parametrize("sampler", OWN_SEED)
def test_each_rank_shuffles_for_itself(sampler: str) -> None:
    assert codes(sampler).count("FSDP811") == 1


@pytest.mark.parametrize("sampler", ONE_SEED)
def test_all_ranks_shuffle_alike_or_not_at_all(sampler: str) -> None:
    assert "FSDP811" not in codes(sampler)


@pytest.mark.parametrize(("epoch", "differs"), [("epoch", False), ("epoch + rank", True), ("drawn()", False)])
def test_an_epoch_of_each_rank(epoch: str, differs: bool) -> None:
    text = TRAINED.replace("{sampler}", ONE_SEED[1]).replace("set_epoch(epoch)", f"set_epoch({epoch})")
    assert analyse(main(text, HELPERS + "from unseen import drawn\n")).codes.count("FSDP811") == differs


@pytest.mark.parametrize("sampler", BY_NODE)
def test_each_node_has_the_same_part(sampler: str) -> None:
    assert codes(sampler).count("FSDP808") == 1
    here = 'os.environ["MASTER_ADDR"] = "localhost"\ndist.init_process_group("nccl")\n'
    assert "FSDP808" not in codes(sampler, here)


OF_NODES = [
    'unseen.load(os.environ["GROUP_RANK"])',
    "torch.load(f\"data/{os.environ['GROUP_RANK']}.pt\")",
    "unseen.Tokens(node=rank // 8)",
    "TensorDataset(torch.randn(64, 8, generator=torch.Generator().manual_seed(rank // 8)), torch.randn(64, 8))",
    "Part(int(os.environ['NODE_RANK']))",
]
PART = """
import unseen

class Part:
    def __init__(self, node):
        self.node = node
"""


@pytest.mark.parametrize("data", OF_NODES)
def test_each_node_has_its_own_data(data: str) -> None:
    text = TRAINED.replace("{sampler}", BY_NODE[0]).replace(
        "TensorDataset(torch.randn(64, 8), torch.randn(64, 8))", data
    )
    assert "FSDP808" not in analyse(main(text, HELPERS + PART)).codes


def test_all_nodes_have_data_that_was_not_followed() -> None:
    text = TRAINED.replace("{sampler}", BY_NODE[0]).replace(
        "TensorDataset(torch.randn(64, 8), torch.randn(64, 8))", 'unseen.load("x")'
    )
    assert "FSDP808" in analyse(main(text, HELPERS + PART)).codes


CLOCKS = ["int(time.time())", "random.randint(0, 9)", "time.time_ns() % 100"]


@pytest.mark.parametrize("seed", CLOCKS)
def test_a_seed_of_each_process(seed: str) -> None:
    more = HELPERS + "import random\nimport time\n"
    text = TRAINED.replace("{sampler}", f"DistributedSampler(data, seed={seed})")
    assert "FSDP811" in analyse(main(text, more)).codes
    shared = f"box = [{seed}]\ndist.broadcast_object_list(box)\n"
    agreed = shared + TRAINED.replace("{sampler}", "DistributedSampler(data, seed=box[0])")
    assert "FSDP811" not in analyse(main(agreed, more)).codes


@pytest.mark.parametrize("sampler", [*OWN_SEED, *ONE_SEED])
def test_the_rank_in_the_job_deals_out_the_data(sampler: str) -> None:
    assert "FSDP808" not in codes(sampler)


@pytest.mark.parametrize(("given", "found"), [("mesh=mesh", True), ("mesh=mesh['dp']", False)])
def test_ranks_of_a_mesh_with_two_dimensions(given: str, found: bool) -> None:
    """With both dimensions the model has replicas, and each rank needs data of its own; else some may share theirs."""
    text = TRAINED.replace("(world,))", "(world // 2, 2), mesh_dim_names=('dp', 'tp'))").replace("mesh=mesh", given)
    for sampler, code in ((OWN_SEED[0], "FSDP811"), (BY_NODE[0], "FSDP808")):
        assert (code in analyse(main(text.replace("{sampler}", sampler), HELPERS)).codes) is found


# The rank is an option, which a launcher gives to no process for itself: its default counts.
OPTIONS = """
import argparse
from dataclasses import dataclass

class Names:
    pass

@dataclass
class Settings:
    rank: int = 0

class Trainer:
    def __init__(self, args):
        self.rank = args.local_rank

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=1)
    return parser.parse_args()
"""
READ = "args = options()\n"
THROUGH = {
    "the options themselves": ("", "args.local_rank"),
    "another option": ("args.rank = args.local_rank", "args.rank"),
    "a field that is given": ("settings = Settings(rank=args.local_rank)", "settings.rank"),
    "a field that is set": ("settings = Settings()\nsettings.rank = args.local_rank", "settings.rank"),
    "an attribute of any object": ("settings = Names()\nsettings.rank = args.local_rank", "settings.rank"),
    "an attribute of self": ("settings = Trainer(args)", "settings.rank"),
}


def by_option(before: str, rank: str, variable: str = "LOCAL_RANK") -> list[str]:
    text = TRAINED.replace("{sampler}", f"DistributedSampler(data, num_replicas=world, rank={rank})")
    return analyse(main(f"{READ}{before}\n{text}", HELPERS + OPTIONS.replace("LOCAL_RANK", variable))).codes


@pytest.mark.parametrize("through", THROUGH)
def test_an_option_that_is_the_rank_on_the_node(through: str) -> None:
    assert by_option(*THROUGH[through]).count("FSDP808") == 1
    assert "FSDP808" not in by_option(*THROUGH[through], variable="RANK")


@pytest.mark.parametrize("before", [
    "from unseen import prepare\nprepare(args)",
    "args.local_rank = dist.get_rank()",
    "setattr(args, os.environ['KEY'], 3)",
])  # fmt: skip
def test_an_option_that_may_be_another_one(before: str) -> None:
    assert "FSDP808" not in by_option(before, "args.local_rank")


ONE_NODE = [
    "if int(os.environ['WORLD_SIZE']) > int(os.environ['LOCAL_WORLD_SIZE']):\n    raise SystemExit('one node')",
    "assert int(os.environ['WORLD_SIZE']) == int(os.environ['LOCAL_WORLD_SIZE'])",
    "if int(os.environ.get('GROUP_WORLD_SIZE', 1)) > 1:\n    raise SystemExit('one node')",
    "assert args.nodes == 1",
    "if args.nodes != 1 or int(os.environ['GROUP_WORLD_SIZE']) > 1:\n    raise SystemExit('one node')",
]
ANY_NODES = [
    "assert int(os.environ['WORLD_SIZE']) > 1",
    "if args.epochs < 1:\n    raise SystemExit('no epoch')",
]


@pytest.mark.parametrize("rank", ["args.local_rank", "int(os.environ['LOCAL_RANK'])"])
def test_a_job_that_may_have_one_node_only(rank: str) -> None:
    for before in ONE_NODE:
        assert "FSDP808" not in by_option(before, rank), before
    for before in ANY_NODES:
        assert "FSDP808" in by_option(before, rank), before


DATA = "data = TensorDataset(torch.randn(64, 8), torch.randn(64, 8))"
LOADED = "from torchvision.datasets import CIFAR10\ndata = CIFAR10('data')"


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        ("DistributedSampler(data, num_replicas=1, rank=0)", ["FSDP808"]),
        ("DistributedSampler(data, 1, 0, shuffle=True, seed=SEED)", ["FSDP808"]),
        ("DistributedSampler(data, num_replicas=1, rank=0, seed=SEED + rank)", []),
        ("DistributedSampler(data, num_replicas=world, rank=rank)", []),
        ("DistributedSampler(data, num_replicas=max(1, world), rank=rank)", []),
    ],
)
def test_a_sampler_for_a_job_of_one_rank(sampler: str, expected: list[str]) -> None:
    assert analyse(main(TRAINED.format(sampler=sampler).replace(DATA, LOADED), HELPERS)).codes == expected


def test_the_seed_that_torch_was_given() -> None:
    sampler = "DistributedSampler(data, seed=torch.initial_seed() % 2**31)"
    assert codes(sampler, "torch.manual_seed(42 + dist.get_rank())").count("FSDP811") == 1
    assert "FSDP811" not in codes(sampler, "torch.manual_seed(42)")


OF_THE_PROJECT = """
from itertools import islice


class Resumable(DistributedSampler):
    offset = 0

    def __init__(self, data, **options):
        super().__init__(data, **options)
        self.offset = 0

    def __iter__(self):
        return islice(ITERATED, self.offset, None)
"""


@pytest.mark.parametrize(
    ("iterated", "seed", "differs"),
    [
        ("super().__iter__()", "SEED + rank", True),
        ("super().__iter__()", "SEED", False),
        ("iter(range(8))", "SEED + rank", False),
    ],
)
def test_a_sampler_that_adds_to_that_of_torch(iterated: str, seed: str, differs: bool) -> None:
    text = TRAINED.replace("{sampler}", f"Resumable(data, shuffle=True, seed={seed})")
    found = analyse(main(text, HELPERS + OF_THE_PROJECT.replace("ITERATED", iterated))).codes
    assert found.count("FSDP811") == differs
    assert "FSDP809" not in found
