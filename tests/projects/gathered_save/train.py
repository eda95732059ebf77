import argparse

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from ckpt import Saver
from model import SpeechEncoder
from ranks import get_rank, get_world_size, print_once, start, stop


def shard(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def features(args, device, generator):
    shape = (args.batch_size, args.frames, args.mels)
    return torch.randn(shape, generator=generator).to(device), torch.randint(
        1, args.symbols, (args.batch_size, args.target_length), generator=generator
    )


def main():
    parser = argparse.ArgumentParser()
    for name, value in [("mels", 80), ("dim", 2048), ("heads", 16), ("depth", 32), ("symbols", 512)]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--frames", type=int, default=1500)
    parser.add_argument("--target-length", type=int, default=80)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--save-every", type=int, default=1000)
    parser.add_argument("--init-from", default=None)
    parser.add_argument("--folder", default="speech")
    args = parser.parse_args()

    device = start()
    torch.manual_seed(99)
    mesh = init_device_mesh("cuda", (get_world_size(),))
    model = SpeechEncoder(args.mels, args.dim, args.heads, args.depth, args.symbols)
    shard(model, mesh)
    saver = Saver(args.folder)
    if args.init_from:
        saver.load_weights(model, args.init_from)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    ctc = torch.nn.CTCLoss(zero_infinity=True)

    generator = torch.Generator().manual_seed(get_rank())
    lengths = torch.full((args.batch_size,), args.frames)
    target_lengths = torch.full((args.batch_size,), args.target_length)
    for step in range(1, args.steps + 1):
        inputs, targets = features(args, device, generator)
        log_probs = model(inputs).float().log_softmax(-1).transpose(0, 1)
        loss = ctc(log_probs, targets.to(device), lengths, target_lengths)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            print_once(f"step {step} ctc {loss.item():.3f}")
        if step % args.save_every == 0:
            saver.save(model, optimizer, scheduler, step)
    stop()


if __name__ == "__main__":
    main()
