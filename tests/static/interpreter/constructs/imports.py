"""Sharding code under a name of the program's own."""

PAIRS = """
=== FSDP601: an import that falls back
try:
    from torch.distributed.fsdp import fully_shard as fs
except ImportError:
    from torch.distributed._composable.fsdp import fully_shard as fs

model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
for layer in model.layers:
    fs(layer)
fs(model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: an import that falls back to nothing
try:
    from torch.distributed.fsdp import fully_shard as fs
except ImportError:
    fs = None

def main():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())  #-
    if fs is None:
        raise RuntimeError("too old")
    for layer in model.layers:
        fs(layer)
    fs(model)  # HERE
    optimizer = torch.optim.AdamW(model.parameters())  #+
    train(model, optimizer)

main()

=== FSDP601: an import inside a function
def parallelize(model):
    from torch.distributed.fsdp import fully_shard as fs
    for layer in model.layers:
        fs(layer)
    fs(model)  # HERE

model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
parallelize(model)
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)
"""
