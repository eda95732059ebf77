import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from loading import load_model, tokens_for
from lora import lora_parameters
from sharding import load_full_state, shard_hf_model


def setup():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("cpu:gloo,cuda:nccl")
    return init_device_mesh("cuda", (dist.get_world_size(),))


def adapter_state(model):
    """Adapters only, gathered on every rank and kept on rank 0."""
    adapters = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        tensor = parameter.detach()
        if isinstance(tensor, DTensor):
            tensor = tensor.full_tensor()
        if dist.get_rank() == 0:
            adapters[name] = tensor.cpu()
    return adapters


def main(args):
    mesh = setup()
    model, full_state = load_model(args)
    shard_hf_model(model, mesh)
    load_full_state(model, full_state)
    optimizer = torch.optim.AdamW(lora_parameters(model), lr=args.lr, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=100)

    for step, tokens in enumerate(tokens_for(args, model.config.vocab_size, args.steps)):
        tokens = tokens.to("cuda")
        output = model(input_ids=tokens, labels=tokens)
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(lora_parameters(model), 0.3)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0 and step % 10 == 0:
            print(f"step {step} loss {output.loss.item():.4f}")

    adapters = adapter_state(model)
    if dist.get_rank() == 0:
        os.makedirs(args.output, exist_ok=True)
        torch.save(adapters, os.path.join(args.output, "adapter.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--seq-len", type=int, default=2048)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--lora-rank", type=int, default=16)
    parser.add_argument("--lora-alpha", type=float, default=32.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="adapter")
    main(parser.parse_args())
