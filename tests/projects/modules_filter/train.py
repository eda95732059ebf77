import os
from argparse import ArgumentParser

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from vit import ConvStage, EncoderLayer, HybridViT
from wrap import wrap_fsdp2


def get_args():
    parser = ArgumentParser()
    parser.add_argument("--width", type=int, default=1536)
    parser.add_argument("--heads", type=int, default=24)
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--layers-per-stage", type=int, default=10)
    parser.add_argument("--classes", type=int, default=21843)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--save", default="hybrid_vit.pt")
    return parser.parse_args()


def create_optimizer(model, lr):
    no_decay = {"bias", "cls_token"}
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": [p for n, p in named if n.split(".")[-1] not in no_decay], "weight_decay": 0.05},
            {"params": [p for n, p in named if n.split(".")[-1] in no_decay], "weight_decay": 0.0},
        ],
        lr=lr,
    )


def sample(args, generator):
    images = torch.randn(args.batch_size, 3, args.image_size, args.image_size, device="cuda", generator=generator)
    labels = torch.randint(args.classes, (args.batch_size,), device="cuda", generator=generator)
    return images, labels


def main():
    args = get_args()
    torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.manual_seed(2024)

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    model = HybridViT(args.width, args.heads, args.stages, args.layers_per_stage, args.classes)
    model = wrap_fsdp2(model, mesh, (EncoderLayer, ConvStage))
    optimizer = create_optimizer(model, args.lr)

    generator = torch.Generator(device="cuda").manual_seed(rank)
    for step in range(args.steps):
        images, labels = sample(args, generator)
        loss = F.cross_entropy(model(images).float(), labels)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        if isinstance(norm, DTensor):
            norm = norm.full_tensor()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 100 == 0:
            print(f"{step} loss {loss.item():.3f} norm {norm.item():.3f}")

    weights = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(weights, args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
