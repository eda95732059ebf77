import torch
from torch import nn


class StateSpaceLayer(nn.Module):
    fsdp_unit = True

    def __init__(self, dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim)
        self.inp = nn.Linear(dim, 2 * dim, bias=False)
        self.decay = nn.Parameter(torch.full((dim,), 2.0))
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        value, gate = self.inp(self.norm(x)).chunk(2, dim=-1)
        log_decay = torch.nn.functional.logsigmoid(self.decay.float())
        steps = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
        kernel = torch.exp(log_decay[:, None] * steps)
        size = 2 * x.shape[1]
        spectrum = torch.fft.rfft(value.float().transpose(1, 2), n=size) * torch.fft.rfft(kernel, n=size)
        mixed = torch.fft.irfft(spectrum, n=size)[..., : x.shape[1]].transpose(1, 2)
        return x + self.out(mixed.to(x.dtype) * torch.sigmoid(gate))


class StateSpaceLM(nn.Module):
    def __init__(self, vocab, dim, depth):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.body = nn.Sequential(*[StateSpaceLayer(dim) for _ in range(depth)])
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.body(self.embed(tokens))))
