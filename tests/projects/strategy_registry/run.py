import argparse

import torch
from torch.nn.functional import cross_entropy

from backends import get_backend
from transformer import CausalLM


class Run:
    def __init__(self, args):
        self.args = args
        self.backend = get_backend(args.backend)
        self.backend.setup()
        torch.manual_seed(args.seed)
        self.model = CausalLM(args.vocab, args.dim, args.heads, args.layers)
        self.model = self.backend.parallelize(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, fused=True)

    def loop(self):
        args = self.args
        data = torch.Generator().manual_seed(args.seed + self.backend.rank)
        for step in range(args.steps):
            ids = torch.randint(args.vocab, (args.batch_size, args.seq_len + 1), generator=data).to("cuda")
            logits = self.model(ids[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.backend.rank == 0 and step % 100 == 0:
                print(f"{step}: {loss.item():.3f}")

    def finish(self):
        state = self.backend.full_state(self.model)
        if self.backend.rank == 0:
            torch.save(state, self.args.save_to)
        self.backend.teardown()


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", choices=["single", "ddp", "fsdp2"], default="fsdp2")
    parser.add_argument("--vocab", type=int, default=65536)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--seq-len", type=int, default=2048)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save-to", default="lm.pt")
    return parser.parse_args()


if __name__ == "__main__":
    run = Run(parse_args())
    run.loop()
    run.finish()
