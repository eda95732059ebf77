"""Branches, loops, returns, exceptions, context managers and conditions on the rank."""

PAIRS = """
=== FSDP601: a context manager with yield
import contextlib

@contextlib.contextmanager
def training():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())  #-
    shard(model)  # HERE
    optimizer = torch.optim.AdamW(model.parameters())  #+
    yield model, optimizer
    print("done")

with training() as (model, optimizer):
    train(model, optimizer)

=== FSDP601: a context manager that closes over a body which shards
import contextlib

@contextlib.contextmanager
def timed(name):
    print(name)
    yield
    print(name)

model = Net()
with timed("optimizer"):
    print("optimizer")
    optimizer = torch.optim.AdamW(model.parameters())  #-
with timed("shard"):
    shard(model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: exclusive branches
import sys

def main(mode):
    model = Net()
    if mode == "fsdp":
        optimizer = torch.optim.AdamW(model.parameters())  #-
        shard(model)  # HERE
        optimizer = torch.optim.AdamW(model.parameters())  #+
    else:
        model = nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)

main(sys.argv[1])

=== FSDP601: two flags that belong together
def main(args):
    model = Net()
    if not args.fsdp:  #+
        optimizer = torch.optim.AdamW(model.parameters())  #+
    if args.fsdp:  #-
        optimizer = torch.optim.AdamW(model.parameters())  #-
    if args.fsdp:
        shard(model)  # HERE
    if args.fsdp:  #+
        optimizer = torch.optim.AdamW(model.parameters())  #+
    train(model, optimizer)

main(object())

=== FSDP601: early returns
def setup(model, kind):
    if kind == "none":
        return torch.optim.SGD(model.parameters(), lr=1)
    if kind == "late":
        return None
    optimizer = torch.optim.AdamW(model.parameters())  #-
    shard(model)  # HERE
    optimizer = torch.optim.AdamW(model.parameters())  #+
    return optimizer

def main(kind):
    model = Net()
    train(model, setup(model, kind))

main(input())

=== FSDP303: an early return before the root
def parallelize(model, whole):
    for layer in model.layers:
        fully_shard(layer)  # HERE
    return model  #-
    fully_shard(model)

model = parallelize(Net(), True)
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP301: a loop with continue
model = Net()
for index, layer in enumerate(model.layers):
    if index >= 0:  #-
        continue  #-
    fully_shard(layer)  #+
fully_shard(model)  # HERE
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP305: a loop with break
model = Net()
for layer in model.layers:
    fully_shard(layer)
while True:
    fully_shard(model)
    break
fully_shard(model)  # HERE #-
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP601: match
def main(kind):
    model = Net()
    match kind:
        case "fsdp":
            optimizer = torch.optim.AdamW(model.parameters())  #-
            shard(model)  # HERE
            optimizer = torch.optim.AdamW(model.parameters())  #+
        case _:
            optimizer = torch.optim.SGD(model.parameters(), lr=1)
    train(model, optimizer)

main(input())

=== FSDP601: try and finally
model = Net()
try:
    optimizer = torch.optim.AdamW(model.parameters())  #-
    shard(model)  # HERE
finally:
    print("done")
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: an exception is caught elsewhere
model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
try:
    shard(model)  # HERE
except RuntimeError as error:
    raise SystemExit(1) from error
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP801: a predicate of the rank
def is_main():
    return dist.get_rank() == 0

def main():
    model = Net()
    shard(model)
    train(model, torch.optim.AdamW(model.parameters()))
    if is_main():
        dist.barrier()  # HERE #-
        print("saved")
    dist.barrier()  #+

main()

=== FSDP801: an early return on the rank
def save(model):
    dist.barrier()  #+
    if dist.get_rank() != 0:
        return
    dist.barrier()  # HERE #-
    print(model)

model = Net()
shard(model)
train(model, torch.optim.AdamW(model.parameters()))
save(model)
"""
