import lightning as L
import torch
from lightning.pytorch.strategies import ModelParallelStrategy
from torch.utils.data import DataLoader, Dataset

from module import LanguageModule


class Tokens(Dataset):
    def __init__(self, path, length):
        self.tokens = torch.load(path, mmap=True)
        self.length = length

    def __len__(self):
        return (len(self.tokens) - 1) // self.length

    def __getitem__(self, index):
        start = index * self.length
        return self.tokens[start : start + self.length + 1].long()


def main():
    L.seed_everything(1)
    module = LanguageModule()
    loader = DataLoader(Tokens("tokens.pt", 2048), batch_size=4, shuffle=True, num_workers=4)
    strategy = ModelParallelStrategy(data_parallel_size=8, tensor_parallel_size=1)
    trainer = L.Trainer(accelerator="cuda", devices=8, strategy=strategy, max_steps=10_000, gradient_clip_val=None)
    trainer.fit(module, loader)


if __name__ == "__main__":
    main()
