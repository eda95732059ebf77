"""FSDP203 of weights that each rank draws for itself, and of what comes afterwards: a resume, wrappers, texts."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """
import torch.distributed.checkpoint as dcp
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
"""
BUILT = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(dist.get_rank())
model = Net()
WRAPPED
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
"""
CHOSEN = """
choice = [None]
if dist.get_rank() == 0:
    found = sorted(os.listdir("runs"))
    choice[0] = str(found[-1]) if found else None
dist.broadcast_object_list(choice, src=0)
"""
LOAD = """
state = {"model": get_model_state_dict(model)}
dcp.load(state, checkpoint_id="x")
set_model_state_dict(model, state["model"])
"""
RUN = "loss = model(torch.ones(2, 8)).sum()\nloss.backward()\n"


@pytest.mark.parametrize(
    ("wrapped", "resume", "word"),
    [
        ("", "", "violated"),
        ("", CHOSEN + "if choice[0] is not None:\n" + LOAD.replace("\n", "\n    "), "violated"),
        ("", CHOSEN + LOAD, "upheld"),
        ("for at in range(len(model.layers)):\n    model.layers[at] = checkpoint_wrapper(model.layers[at])", "",
         "violated"),
    ],
)  # fmt: skip
def test_a_run_that_begins_anew(wrapped: str, resume: str, word: str) -> None:
    body = BUILT.replace("WRAPPED", wrapped) + resume.rstrip(" ") + "\n" + RUN
    assert analyse(script(body, IMPORTS)).verdicts("FSDP203") == {word}


def test_what_rank_0_put_into_a_list_is_what_all_ranks_have_behind_a_broadcast() -> None:
    body = BUILT.replace("WRAPPED", "") + CHOSEN + "if choice[0] is not None:\n    dist.barrier()\n"
    assert analyse(script(body, IMPORTS)).verdicts("FSDP801") == {"upheld"}


STARTED = """
def start(seed, replicas):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if replicas == 7:
        WAY
    torch.manual_seed(seed + dist.get_rank())
"""


@pytest.mark.parametrize(("way", "verdict"), [("raise ValueError(replicas)", "violated"), ("return", "unknown")])
def test_a_seed_behind_what_is_checked(way: str, verdict: str) -> None:
    """Who is refused builds no model; who returns early builds one with another seed."""
    begun = BUILT.index("model = Net()")
    main = 'start(17, int(os.environ["REPLICAS"]))\n' + BUILT[begun:].replace("WRAPPED", "") + RUN
    assert analyse(script(main, IMPORTS + STARTED.replace("WAY", way))).verdicts("FSDP203") == {verdict}
