"""Helpers, factories, closures, decorators and what they return."""

PAIRS = """
=== FSDP601: a helper that returns nothing
model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
shard(model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: a helper that returns the model
def sharded(model):
    shard(model)
    return model

def main():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())  #-
    model = sharded(model)  # HERE
    optimizer = torch.optim.AdamW(model.parameters())  #+
    train(model, optimizer)

main()

=== FSDP601: a factory of several objects
def build():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())  #-
    shard(model)  # HERE
    optimizer = torch.optim.AdamW(model.parameters())  #+
    return model, optimizer

model, optimizer = build()
train(model, optimizer)

=== FSDP601: a factory, and sharding at its caller
def build():
    model = Net()
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters())}  #-
    return {"model": model}  #+

state = build()  # HERE
shard(state["model"])
state["optimizer"] = torch.optim.AdamW(state["model"].parameters())  #+
train(**state)

=== FSDP601: a closure over the model
def main():
    model = Net()
    def make():
        return torch.optim.AdamW(model.parameters())
    optimizer = make()  #-
    shard(model)  # HERE
    optimizer = make()  #+
    train(model, optimizer)

main()

=== FSDP601: a closure that assigns by nonlocal
def main():
    model, optimizer = Net(), None
    def setup():
        nonlocal optimizer
        optimizer = torch.optim.AdamW(model.parameters())  # HERE
    setup()  #-
    shard(model)
    setup()  #+
    train(model, optimizer)

main()

=== FSDP601: a module's global variable
model = Net()
optimizer = None

def setup():
    global optimizer
    optimizer = torch.optim.AdamW(model.parameters())  # HERE

def main():
    setup()  #-
    shard(model)
    setup()  #+
    train(model, optimizer)

main()

=== FSDP601: partials
import functools

make = functools.partial(torch.optim.AdamW, lr=1e-3)
apply = functools.partial(fully_shard, reshard_after_forward=True)
model = Net()
optimizer = make(model.parameters())  #-
for layer in model.layers:
    apply(layer)
apply(model)  # HERE
optimizer = make(model.parameters())  #+
train(model, optimizer)

=== FSDP601: a lambda
make = lambda m: torch.optim.AdamW(m.parameters())
model = Net()
optimizer = make(model)  #-
shard(model)  # HERE
optimizer = make(model)  #+
train(model, optimizer)

=== FSDP601: a function taken as an argument
def build(make_optimizer, parallelize):
    model = Net()
    optimizer = make_optimizer(model.parameters())  #-
    parallelize(model)  # HERE
    optimizer = make_optimizer(model.parameters())  #+
    return model, optimizer

train(*build(torch.optim.AdamW, shard))

=== FSDP601: a decorator of the project
import functools

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print(function.__name__)
        return function(*args, **kwargs)
    return wrapper

@logged
def parallelize(model):
    shard(model)

model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
parallelize(model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: a decorator with arguments
def logged(level):
    def decorate(function):
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)
        return wrapper
    return decorate

@logged("info")
def parallelize(model):
    shard(model)

model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
parallelize(model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: arguments by star
def parallelize(*models, **options):
    for model in models:
        shard(model)

model = Net()
optimizer = torch.optim.AdamW(*[model.parameters()], **{"lr": 1e-3})  #-
parallelize(*[model], verbose=True)  # HERE
optimizer = torch.optim.AdamW(*[model.parameters()], **{"lr": 1e-3})  #+
train(model, optimizer)

=== FSDP601: async functions
import asyncio

async def parallelize(model):
    shard(model)

async def main():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())  #-
    await parallelize(model)  # HERE
    optimizer = torch.optim.AdamW(model.parameters())  #+
    train(model, optimizer)

asyncio.run(main())

=== FSDP601: recursion over the modules
def parallelize(module):
    for child in module.children():
        parallelize(child)
    if isinstance(module, Block):
        fully_shard(module)

model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
parallelize(model)
fully_shard(model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)
"""
