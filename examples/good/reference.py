"""A reference training script for FSDP2: every step, in the right order, with the reason.

    torchrun --standalone --nproc-per-node 2 examples/good/reference.py
    torchrun ... examples/good/reference.py --steps 80 --resume checkpoints/step-40

It runs on GPUs (NCCL) or, without any, on CPUs (gloo). Each function is a block to copy.
"""

import argparse
import os
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.optim import AdamW, Optimizer

VOCAB, DIM, LAYERS, LENGTH, BATCH = 64, 64, 2, 32, 16


class Block(nn.Module):
    """Mixes each token with the one before it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.up = nn.Linear(2 * DIM, 4 * DIM)
        self.down = nn.Linear(4 * DIM, DIM)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        pairs = torch.cat([h, F.pad(h, (0, 0, 1, -1))], dim=-1)
        return x + self.down(F.gelu(self.up(pairs)))


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        # Not persistent: no checkpoint holds it, so init_weights has to compute it.
        self.register_buffer("positions", torch.empty(LENGTH, DIM), persistent=False)

    def init_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, (nn.Embedding, nn.LayerNorm, nn.Linear)):
                module.reset_parameters()
        rates = torch.logspace(0, -3, DIM)
        self.positions.copy_(torch.outer(torch.arange(LENGTH), rates).sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        x = x + self.positions.to(x.dtype)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def init_distributed() -> torch.device:
    """Join the job that torchrun started, and select the device of this process."""
    if not torch.cuda.is_available():
        # DTensor warns that it draws the same numbers for every shard on CPUs.
        warnings.filterwarnings("ignore", message="DTensor random operators")
        dist.init_process_group("gloo")
        return torch.device("cpu")
    # LOCAL_RANK counts within one node, RANK over all nodes. Select the GPU before anything
    # touches CUDA: otherwise every process of the node works on GPU 0.
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    dist.init_process_group("nccl", device_id=device)
    return device


def build_model_meta() -> LanguageModel:
    """Build shapes only: no process ever needs memory for the whole model."""
    with torch.device("meta"):
        return LanguageModel()


def shard_model(model: LanguageModel, device: torch.device) -> None:
    """Shard the model in place, children first, then give the shards memory and values."""
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    # Compute in bf16, but keep the parameters and sum the gradients in fp32.
    mixed = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    # Each call makes one group of parameters that is gathered and freed together. One group
    # per block keeps one block at a time in memory; the root takes all that is left.
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=mixed)
    fully_shard(model, mesh=mesh, mp_policy=mixed)
    # to_empty allocates and writes nothing: parameters and buffers hold garbage until init.
    model.to_empty(device=device)
    # One seed for all ranks: on GPUs each draws its own part of the same stream of numbers. On CPUs
    # each has a stream of its own, and equal seeds would make equal shards.
    torch.manual_seed(0 if device.type == "cuda" else dist.get_rank())
    with torch.no_grad():
        model.init_weights()


def build_optimizer(model: nn.Module) -> Optimizer:
    """Call this after shard_model: fully_shard replaces the parameters."""
    return AdamW(model.parameters(), lr=3e-3)


def make_batch(step: int, device: torch.device) -> torch.Tensor:
    """Sequences that count up in steps of 1, 2 or 3. Every rank draws others: own seeds."""
    seed = step * dist.get_world_size() + dist.get_rank()
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(VOCAB, (BATCH, 1), generator=generator)
    stride = torch.randint(1, 4, (BATCH, 1), generator=generator)
    return ((start + stride * torch.arange(LENGTH + 1)) % VOCAB).to(device)


def train_step(model: nn.Module, optimizer: Optimizer, tokens: torch.Tensor) -> float:
    """Train on this rank's batch; returns the mean loss of all ranks."""
    # Call the model, not model.forward: the hooks that gather the parameters run in a call.
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
    mean_loss = loss.detach().clone()
    dist.all_reduce(mean_loss)
    return mean_loss.item() / dist.get_world_size()


def checkpoint_save(
    path: str,
    model: nn.Module,
    optimizer: Optimizer,
    step: int,
) -> None:
    """Write one checkpoint together: every rank calls this and writes its own shards."""
    model_state, optim_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optim": optim_state, "step": step}
    dcp.save(state, checkpoint_id=path)


def checkpoint_load(path: str, model: nn.Module, optimizer: Optimizer) -> int:
    """Load a checkpoint of any number of ranks; returns the step it was saved at."""
    # dcp.load fills in what it is given, so the state needs every key before the load.
    model_state, optim_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optim": optim_state, "step": 0}
    dcp.load(state, checkpoint_id=path)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optim"],
    )
    return state["step"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small model with FSDP2.")
    parser.add_argument("--steps", type=int, default=40, help="train up to this step")
    parser.add_argument("--save-every", type=int, default=20, metavar="STEPS")
    parser.add_argument("--checkpoint-dir", default="checkpoints")
    parser.add_argument("--resume", metavar="PATH", help="checkpoint to continue from")
    args = parser.parse_args()

    device = init_distributed()
    model = build_model_meta()
    shard_model(model, device)
    optimizer = build_optimizer(model)

    first_step = 0
    if args.resume:
        first_step = checkpoint_load(args.resume, model, optimizer)
        if dist.get_rank() == 0:
            print(f"resumed at step {first_step}", flush=True)

    for step in range(first_step + 1, args.steps + 1):
        tokens = make_batch(step, device)
        loss = train_step(model, optimizer, tokens)
        # Only printing is left to one rank: whatever communicates has to run on all.
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss:.4f}", flush=True)
        if step % args.save_every == 0:
            path = os.path.join(args.checkpoint_dir, f"step-{step}")
            checkpoint_save(path, model, optimizer, step)
            if dist.get_rank() == 0:
                print(f"saved {path}", flush=True)

    # Leave together: a rank that exits early can take the others' connections with it.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
