import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

from checkpoint import CheckpointManager
from config import JobConfig, parse_job_config
from train_spec import get_train_spec


class Trainer:
    def __init__(self, cfg: JobConfig):
        self.cfg = cfg
        self.device = torch.device("cuda")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
        tp = cfg.tensor_parallel_degree
        self.mesh = init_device_mesh("cuda", (dist.get_world_size() // tp, tp), mesh_dim_names=("dp", "tp"))
        torch.manual_seed(cfg.seed)

        spec = get_train_spec(cfg.model)
        model_args = spec.flavors[cfg.flavor]
        with torch.device("meta"):
            model = spec.model_cls(model_args)
        self.vocab_size = model_args.vocab_size
        self.model_parts = [model]
        for i, part in enumerate(self.model_parts):
            self.model_parts[i] = spec.parallelize_fn(part, self.mesh, cfg)
        for part in self.model_parts:
            part.to_empty(device=self.device)
            with torch.no_grad():
                part.init_weights(self.device)
            part.train()

        self.optimizers = spec.build_optimizers_fn(self.model_parts, cfg)
        self.lr_schedulers = spec.build_lr_schedulers_fn(self.optimizers, cfg)
        self.checkpointer = CheckpointManager(self.model_parts, self.optimizers, cfg)
        self.step = 0

    def batches(self):
        # ranks of one tensor-parallel group read the same samples
        generator = torch.Generator().manual_seed(self.cfg.seed + self.mesh["dp"].get_local_rank())
        shape = (self.cfg.local_batch_size, self.cfg.seq_len + 1)
        while True:
            yield torch.randint(self.vocab_size, shape, generator=generator)

    def train_step(self, batch):
        self.optimizers.zero_grad()
        tokens = batch.to(self.device)
        pred = self.model_parts[0](tokens[:, :-1])
        loss = F.cross_entropy(pred.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        params = [p for part in self.model_parts for p in part.parameters()]
        torch.nn.utils.clip_grad_norm_(params, self.cfg.max_norm, foreach=True)
        self.optimizers.step()
        for scheduler in self.lr_schedulers:
            scheduler.step()
        return loss.detach()

    def train(self):
        self.checkpointer.load(self.cfg.resume_step)
        self.step = max(0, self.cfg.resume_step)
        for batch in self.batches():
            if self.step >= self.cfg.steps:
                break
            self.step += 1
            loss = self.train_step(batch)
            self.checkpointer.save(self.step)
            if dist.get_rank() == 0 and self.step % 10 == 0:
                print(f"step {self.step}: loss {loss.item():.4f}")

    def close(self):
        if dist.is_initialized():
            dist.destroy_process_group()


if __name__ == "__main__":
    trainer = Trainer(parse_job_config())
    try:
        trainer.train()
    finally:
        trainer.close()
