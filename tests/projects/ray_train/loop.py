import os
import tempfile

import ray.train
import torch
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from ray.train.torch import get_device
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torchvision.models import vit_l_16


def shard(model):
    world_size = ray.train.get_context().get_world_size()
    mesh = init_device_mesh("cuda", (world_size,), mesh_dim_names=("data",))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.encoder.layers.children():
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def save(model, optimizer, metrics):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    with tempfile.TemporaryDirectory() as folder:
        dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder)
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))


def resume(model, optimizer):
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is None:
        return
    with checkpoint.as_directory() as folder:
        model_state, optimizer_state = get_state_dict(model, optimizer)
        state = {"model": model_state, "optimizer": optimizer_state}
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def train_loop(config):
    """Ray Train runs this on every worker, with the process group and the device set up."""
    torch.manual_seed(config["seed"])
    model = vit_l_16(num_classes=config["classes"]).to(get_device())
    shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    resume(model, optimizer)
    rows = ray.train.get_dataset_shard("train")
    for epoch in range(config["epochs"]):
        model.train()
        for batch in rows.iter_torch_batches(batch_size=config["batch_size"], device=get_device()):
            loss = F.cross_entropy(model(batch["image"]), batch["label"])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        save(model, optimizer, {"epoch": epoch, "loss": loss.item(), "pid": os.getpid()})
