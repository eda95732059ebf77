import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict

from parallel import shard_caption_model, start
from towers import CaptionModel
from wrapper import CaptionLoss


def random_pairs(cfg, generator):
    images = torch.randn(cfg.batch, 3, cfg.image, cfg.image, device="cuda", generator=generator)
    ids = torch.randint(cfg.vocab, (cfg.batch, cfg.text_len + 1), device="cuda", generator=generator)
    return images, ids


def make_optimizer(module, cfg):
    groups = {}
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        tower = "projector" if ".projector." in name else "tower"
        groups.setdefault(tower, []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": groups["projector"], "lr": cfg.lr * 10},
            {"params": groups["tower"], "lr": cfg.lr},
        ]
    )


def fit(cfg):
    mesh = start(cfg.replicas)
    torch.manual_seed(cfg.seed)
    core = CaptionModel(cfg)
    if cfg.freeze_vision:
        core.vision.requires_grad_(False)
    shard_caption_model(core, mesh)
    module = CaptionLoss(core)
    optimizer = make_optimizer(module, cfg)

    generator = torch.Generator(device="cuda").manual_seed(cfg.seed + dist.get_rank())
    for step in range(1, cfg.steps + 1):
        images, ids = random_pairs(cfg, generator)
        loss = module(images, ids)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.trainable(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean, op=dist.ReduceOp.SUM)
            if dist.get_rank() == 0:
                print(f"step {step} loss {mean.item() / dist.get_world_size():.4f}")
        if step % cfg.save_every == 0:
            dcp.save(get_model_state_dict(core), checkpoint_id=f"{cfg.folder}/{step}")
    dist.destroy_process_group()


def parse():
    parser = argparse.ArgumentParser()
    ints = dict(
        vision_dim=1408, vision_heads=16, vision_depth=40, patch=14, image=224,
        vocab=32000, text_dim=4096, text_heads=32, text_depth=32, text_len=256,
        batch=4, steps=5000, save_every=1000, replicas=1, seed=4,
    )  # fmt: skip
    for name, value in ints.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=value)
    parser.add_argument("--freeze-vision", action="store_true")
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--folder", default="caption")
    return parser.parse_args()


if __name__ == "__main__":
    fit(parse())
