"""The data set and its split over ranks."""

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from config import Config, ModelConfig


class CountingSequences(Dataset):
    """Sequences that count up in steps of 1, 2 or 3, the same on every rank."""

    def __init__(self, size: int, config: ModelConfig, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        start = torch.randint(config.vocab, (size, 1), generator=generator)
        stride = torch.randint(1, 4, (size, 1), generator=generator)
        self.tokens = (start + stride * torch.arange(config.length + 1)) % config.vocab

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.tokens[index]


def build_loader(dataset: Dataset, config: Config, shuffle: bool) -> DataLoader:
    """Each rank reads its own part. drop_last gives all ranks the same number of batches."""
    sampler = DistributedSampler(dataset, shuffle=shuffle, drop_last=True)
    return DataLoader(dataset, config.batch, sampler=sampler, drop_last=True)
