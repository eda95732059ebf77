import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict

from clip import clip_moe_gradients
from model import MoETransformer
from parallel import init_meshes, parallelize_moe


def main():
    parser = argparse.ArgumentParser()
    for flag, default in {
        "vocab": 102400, "dim": 2048, "heads": 16, "hidden": 1408, "experts": 64, "top_k": 6,
        "layers": 27, "ep": 8, "steps": 10_000, "batch": 2, "seq": 4096, "save_every": 1000,
    }.items():  # fmt: skip
        parser.add_argument(f"--{flag.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--folder", default="moe_checkpoints")
    cfg = parser.parse_args()

    meshes = init_meshes(cfg.ep)
    torch.manual_seed(1)
    model = MoETransformer(cfg)
    model = parallelize_moe(model, meshes)
    # the two kinds of parameters live on different meshes: one group each, no foreach across them
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if ".experts." in n], "weight_decay": 0.0},
        {"params": [p for n, p in named if ".experts." not in n], "weight_decay": 0.1},
    ]
    optimizer = torch.optim.AdamW(groups, lr=cfg.lr, foreach=False)

    generator = torch.Generator().manual_seed(dist.get_rank())
    for step in range(1, cfg.steps + 1):
        tokens = torch.randint(cfg.vocab, (cfg.batch, cfg.seq + 1), generator=generator).to("cuda")
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        norm = clip_moe_gradients(model, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0 and step % 10 == 0:
            print(f"{step}: loss {loss.item():.4f} norm {norm.item():.3f}")
        if step % cfg.save_every == 0:
            dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=f"{cfg.folder}/{step}")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
