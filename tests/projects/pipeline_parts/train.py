import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.pipelining import Schedule1F1B

from parallel import build_stage, init_mesh


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=32000)
    parser.add_argument("--dim", type=int, default=4096)
    parser.add_argument("--depth", type=int, default=32)
    parser.add_argument("--steps", type=int, default=1000)
    cfg = parser.parse_args()

    mesh = init_mesh(cfg.stages)
    part, stage = build_stage(mesh, cfg)
    schedule = Schedule1F1B(stage, n_microbatches=8, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(part.parameters(), lr=1e-4)
    # all stages of one pipeline work on the same tokens, each data-parallel copy of it on its own
    generator = torch.Generator().manual_seed(mesh["dp"].get_local_rank())
    for _ in range(cfg.steps):
        tokens = torch.randint(cfg.vocab, (16, 1025), generator=generator).to("cuda")
        if stage.is_first:
            schedule.step(tokens[:, :-1])
        elif stage.is_last:
            schedule.step(target=tokens[:, 1:])
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
    dcp.save({f"part{stage.stage_index}": get_model_state_dict(part)}, checkpoint_id="checkpoint")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
