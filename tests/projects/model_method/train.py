import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from vit import VisionEncoder


class NoiseImages(Dataset):
    def __init__(self, size, image, classes):
        self.size, self.image, self.classes = size, image, classes

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        return torch.randn(3, self.image, self.image, generator=g), index % self.classes


class TrainModule:
    """Owns the model, its optimizer and one training step."""

    def __init__(self, model: VisionEncoder, mesh, lr: float):
        self.device = torch.device("cuda")
        self.model = model
        self.model.apply_fsdp(mesh, param_dtype=torch.bfloat16)
        self.optim = torch.optim.AdamW(self.model.parameters(), lr=lr, weight_decay=0.05)
        self.criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)

    def train_batch(self, images, labels):
        logits = self.model(images.to(self.device))
        loss = self.criterion(logits.float(), labels.to(self.device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optim.step()
        self.optim.zero_grad()
        return loss.detach()

    @torch.no_grad()
    def eval_batches(self, loader):
        correct = torch.zeros((), device=self.device)
        total = 0
        self.model.eval()
        for images, labels in loader:
            prediction = self.model(images.to(self.device)).argmax(dim=-1)
            correct += (prediction == labels.to(self.device)).sum()
            total += labels.numel()
        self.model.train()
        dist.all_reduce(correct)
        return correct.item() / (total * dist.get_world_size())

    def full_state(self):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        return get_model_state_dict(self.model, options=options)


def make_loader(args, size, shuffle):
    data = NoiseImages(size, args.image, args.classes)
    sampler = DistributedSampler(data, shuffle=shuffle, drop_last=True)
    return DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True), sampler


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("width", 1664), ("depth", 48), ("heads", 16), ("patch", 14), ("image", 224)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--output", default="encoder.pt")
    args = parser.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    torch.manual_seed(7)
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))

    model = VisionEncoder(args.width, args.depth, args.heads, args.patch, args.image, args.classes)
    module = TrainModule(model, mesh, args.lr)
    if dist.get_rank() == 0:
        print(f"{model.num_params():,} parameters")

    train_loader, sampler = make_loader(args, args.samples, shuffle=True)
    eval_loader, _ = make_loader(args, args.samples // 10, shuffle=False)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, labels in train_loader:
            module.train_batch(images, labels)
        accuracy = module.eval_batches(eval_loader)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: accuracy {accuracy:.3f}")

    state = module.full_state()
    if dist.get_rank() == 0:
        torch.save(state, args.output)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
