import os
import sys
from functools import partial

import torch
import torch.distributed as dist
import torch.nn.functional as F
from omegaconf import OmegaConf
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import distributed as training
from modules import TransformerDecoder


class FullFinetuneRecipe:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.is_rank_zero = self.rank == 0
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.gradient_accumulation_steps = cfg.gradient_accumulation_steps

    def setup(self):
        full_state = torch.load(self.cfg.checkpoint, map_location="cpu", mmap=True, weights_only=True)
        self.model = self._setup_model(full_state)
        self.optimizer = self._setup_optimizer()
        self.sampler, self.dataloader = self._setup_data()

    def _setup_model(self, full_state):
        cfg = self.cfg.model
        with torch.device("meta"):
            model = TransformerDecoder(cfg.vocab, cfg.dim, cfg.heads, cfg.hidden, cfg.depth)
        mesh = init_device_mesh("cuda", (self.world_size,), mesh_dim_names=("dp",))
        training.shard_model(
            model,
            [partial(training.get_shard_conditions, names_to_match=["output"])],
            cpu_offload=False,
            dp_mesh=mesh["dp"],
        )
        training.load_from_full_model_state_dict(model, full_state, self.device)
        return model

    def _setup_optimizer(self):
        return torch.optim.AdamW(self.model.parameters(), lr=self.cfg.lr, fused=True)

    def _setup_data(self):
        tokens = torch.load(self.cfg.tokens, mmap=True)
        dataset = TensorDataset(tokens.long())
        sampler = DistributedSampler(dataset, self.world_size, self.rank, shuffle=True, seed=self.cfg.seed)
        return sampler, DataLoader(dataset, batch_size=self.cfg.batch_size, sampler=sampler, drop_last=True)

    def _loss_step(self, batch):
        logits = self.model(batch[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())

    def train(self):
        for epoch in range(self.cfg.epochs):
            self.sampler.set_epoch(epoch)
            for index, (batch,) in enumerate(self.dataloader):
                last = (index + 1) % self.gradient_accumulation_steps == 0
                self.model.set_requires_gradient_sync(last)
                loss = self._loss_step(batch.to(self.device)) / self.gradient_accumulation_steps
                loss.backward()
                if last:
                    norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm).full_tensor()
                    self.optimizer.step()
                    self.optimizer.zero_grad(set_to_none=True)
                    self._log(epoch, index, norm)
            self.save_checkpoint(epoch)

    def _log(self, epoch, index, norm):
        if self.is_rank_zero:
            print(f"{epoch}|{index}|norm {norm.item():.3f}")

    def save_checkpoint(self, epoch):
        state = training.gather_cpu_state_dict(self.model, self.is_rank_zero)
        if self.is_rank_zero:
            torch.save(state, f"{self.cfg.output}/epoch_{epoch}.pt")


def recipe_main(cfg):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cuda:nccl,cpu:gloo")
    torch.manual_seed(cfg.seed)
    recipe = FullFinetuneRecipe(cfg)
    recipe.setup()
    recipe.train()
    dist.destroy_process_group()


if __name__ == "__main__":
    recipe_main(OmegaConf.load(sys.argv[1]))
