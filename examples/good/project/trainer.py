"""The trainer: builds everything in order, then runs the epochs."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    set_model_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import StepLR

from checkpoint import TrainState, export_weights, load_latest, save_checkpoint
from config import Config, ModelConfig
from data import CountingSequences, build_loader
from model import LanguageModel
from parallelize import parallelize


class Trainer:
    def __init__(self, config: Config, device: torch.device) -> None:
        self.config = config
        self.device = device
        self.is_main = dist.get_rank() == 0
        self.model = self._build_model()
        # After _build_model: the optimizer has to hold the sharded parameters.
        self.optimizer = self._build_optimizer()
        self.scheduler = StepLR(self.optimizer, step_size=1, gamma=0.7)
        self.state = TrainState(self.model, self.optimizer, self.scheduler)

        train_set = CountingSequences(config.sequences, ModelConfig(), seed=1)
        valid_set = CountingSequences(config.sequences // 4, ModelConfig(), seed=2)
        self.loader = build_loader(train_set, config, shuffle=True)
        self.valid_loader = build_loader(valid_set, config, shuffle=False)

    def _build_model(self) -> LanguageModel:
        with torch.device("meta"):
            model = LanguageModel(ModelConfig())
        mesh = init_device_mesh(self.device.type, (dist.get_world_size(),))
        parallelize(model, mesh, self.config)
        model.to_empty(device=self.device)
        model.init_buffers()

        # Rank 0 alone has the first weights (a pretrained file would be read here, too) and
        # sends each rank its shards. fully_shard itself never sends weights around.
        weights = {}
        if self.is_main:
            torch.manual_seed(0)
            weights = LanguageModel(ModelConfig()).state_dict()
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(model, weights, options=options)
        return model

    def _build_optimizer(self) -> Optimizer:
        matrices = [p for p in self.model.parameters() if p.ndim > 1]
        vectors = [p for p in self.model.parameters() if p.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": 0.1},
            {"params": vectors, "weight_decay": 0.0},
        ]
        return AdamW(groups, lr=self.config.lr)

    def train(self) -> None:
        if self.config.resume:
            load_latest(self.state, self.config.output)
            self._log(f"resumed after epoch {self.state.epoch}")
        for epoch in range(self.state.epoch + 1, self.config.epochs + 1):
            self._train_epoch(epoch)
            self.scheduler.step()
            self.state.epoch = epoch
            save_checkpoint(self.state, self.config.output)
            loss = self._evaluate()
            self._log(f"epoch {epoch}, validation loss {loss:.4f}")
        export_weights(self.model, os.path.join(self.config.output, "weights.pt"))

    def _train_epoch(self, epoch: int) -> None:
        self.model.train()
        self.loader.sampler.set_epoch(epoch)  # another order in every epoch
        for index, tokens in enumerate(self.loader, start=1):
            # Gradients are summed over ranks in the last micro-batch of a step only.
            at_end = index == len(self.loader)
            is_last = at_end or index % self.config.accumulation == 0
            self.model.set_requires_gradient_sync(is_last)
            loss = self._loss(tokens) / self.config.accumulation
            loss.backward()
            if is_last:
                self._optimizer_step()

    def _optimizer_step(self) -> None:
        nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    @torch.no_grad()
    def _evaluate(self) -> float:
        """Mean loss over the validation set; every rank takes part."""
        self.model.eval()
        total = torch.zeros((), device=self.device)
        for tokens in self.valid_loader:
            total += self._loss(tokens)
        # A forward without a backward leaves the root's parameters gathered: give them back.
        self.model.reshard()
        dist.all_reduce(total)
        return total.item() / (len(self.valid_loader) * dist.get_world_size())

    def _loss(self, tokens: torch.Tensor) -> torch.Tensor:
        tokens = tokens.to(self.device)
        logits = self.model(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())

    def _log(self, message: str) -> None:
        if self.is_main:
            print(message, flush=True)
