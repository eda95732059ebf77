import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh

from factory import Settings, create_training
from loop import run


def read_settings():
    parser = argparse.ArgumentParser()
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--image", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--warmup", type=int, default=500)
    return Settings(**vars(parser.parse_args()))


def export(model, path):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=options)
    if dist.get_rank() == 0:
        torch.save(weights, path)


def main():
    settings = read_settings()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    training = create_training(settings, mesh)
    model = run(training, settings)
    export(model, "denoiser.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
