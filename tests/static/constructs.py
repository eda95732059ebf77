"""Pairs of programs for ``test_interpreter``, each a faulty one and its correct twin in one text."""

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

=== FSDP601: a context manager by class
class Session:
    def __enter__(self):
        self.model = Net()
        self.optimizer = torch.optim.AdamW(self.model.parameters())  #-
        shard(self.model)  # HERE
        self.optimizer = torch.optim.AdamW(self.model.parameters())  #+
        return self

    def __exit__(self, *error):
        pass

with Session() as session:
    train(session.model, session.optimizer)

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

=== FSDP601: an import that falls back !! under another name it is no sharding code: never entered
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

=== FSDP601: an import that falls back to nothing !! under another name it is no sharding code: never entered
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

=== FSDP601: an import inside a function !! under another name it is no sharding code: never entered
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

=== FSDP302: a loop over indices
model = Net()
fully_shard(model)  #-
for index in range(len(model.layers)):
    fully_shard(model.layers[index])  # HERE
fully_shard(model)  #+
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP302: named children
model = Net()
fully_shard(model)  #-
for name, layer in model.layers.named_children():
    fully_shard(layer)  # HERE
fully_shard(model)  #+
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP302: reversed and chained loops
import itertools

model = Net()
fully_shard(model)  #-
for layer in itertools.chain(reversed(model.layers), [model.head]):
    fully_shard(layer)  # HERE
fully_shard(model)  #+
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

=== FSDP601: a dataclass
import dataclasses

@dataclasses.dataclass
class State:
    model: nn.Module
    optimizer: object = None

    def prepare(self):
        shard(self.model)

model = Net()
state = State(model, torch.optim.AdamW(model.parameters()))  #-
state = State(model)  #+
state.prepare()  # HERE
state.optimizer = torch.optim.AdamW(state.model.parameters())  #+
train(state.model, state.optimizer)

=== FSDP601: a dataclass that sets up itself
import dataclasses

@dataclasses.dataclass
class State:
    lr: float
    model: nn.Module = dataclasses.field(init=False)

    def __post_init__(self):
        self.model = Net()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.lr)  #-
        shard(self.model)  # HERE
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.lr)  #+

state = State(1e-3)
train(state.model, state.optimizer)

=== FSDP601: a named tuple
from typing import NamedTuple

class Pair(NamedTuple):
    model: nn.Module
    optimizer: object

def build():
    model = Net()
    shard(model)  #+
    return Pair(model, torch.optim.AdamW(model.parameters()))

pair = build()
shard(pair.model)  # HERE #-
model, optimizer = pair
train(model, optimizer)

=== FSDP601: a named tuple by call !! collections.namedtuple(...) makes no class
import collections

Pair = collections.namedtuple("Pair", "model optimizer")

def build():
    model = Net()
    shard(model)  #+
    return Pair(model, torch.optim.AdamW(model.parameters()))

pair = build()
shard(pair.model)  # HERE #-
train(pair.model, pair.optimizer)

=== FSDP601: a property
class Trainer:
    def __init__(self):
        self.net = Net()

    @property
    def model(self):
        return self.net

trainer = Trainer()
optimizer = torch.optim.AdamW(trainer.model.parameters())  #-
shard(trainer.model)  # HERE
optimizer = torch.optim.AdamW(trainer.model.parameters())  #+
train(trainer.model, optimizer)

=== FSDP601: a cached property that builds !! evaluated at each use, and taken for upheld
import functools

class Trainer:
    def __init__(self):
        self.model = Net()

    @functools.cached_property
    def optimizer(self):
        return torch.optim.AdamW(self.model.parameters())  # HERE

trainer = Trainer()
print(trainer.optimizer)  #-
shard(trainer.model)
train(trainer.model, trainer.optimizer)

=== FSDP601: a class method as constructor
class Trainer:
    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer

    @classmethod
    def create(cls, lr):
        model = Net()
        return cls(model, torch.optim.AdamW(model.parameters(), lr=lr))  #-
        return cls(model)  #+

    @staticmethod
    def parallelize(model):
        shard(model)

trainer = Trainer.create(1e-3)
trainer.parallelize(trainer.model)  # HERE
trainer.optimizer = torch.optim.AdamW(trainer.model.parameters())  #+
train(trainer.model, trainer.optimizer)

=== FSDP601: super
class Base:
    def __init__(self):
        self.model = Net()
        self.setup()

    def setup(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters())

class Trainer(Base):
    def setup(self):
        super().setup()  #-
        shard(self.model)  # HERE
        super().setup()  #+

trainer = Trainer()
train(trainer.model, trainer.optimizer)

=== FSDP601: methods of a trainer in order
class Trainer:
    def __init__(self):
        self.model = Net()
        self.make_optimizer()  #-
        self.parallelize()  # HERE
        self.make_optimizer()  #+

    def make_optimizer(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def parallelize(self):
        for layer in self.model.layers:
            fully_shard(layer)
        fully_shard(self.model)

    def fit(self):
        train(self.model, self.optimizer)

Trainer().fit()

=== FSDP601: a model that shards itself
class Model(Net):
    def parallelize(self):
        for layer in self.layers:
            fully_shard(layer)
        fully_shard(self)
        return self

model = Model()
optimizer = torch.optim.AdamW(model.parameters())  #-
model.parallelize()  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

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

=== FSDP601: a registry filled by a decorator !! not entered: it names no sharding code
REGISTRY = {}

def register(name):
    def decorate(function):
        REGISTRY[name] = function
        return function
    return decorate

@register("fsdp")
def parallelize(model):
    shard(model)

model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
REGISTRY["fsdp"](model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: a registry by a literal
def nothing(model):
    return model

STRATEGIES = {"fsdp": shard, "none": nothing}

def main(kind):
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())  #-
    STRATEGIES[kind](model)  # HERE
    optimizer = torch.optim.AdamW(model.parameters())  #+
    train(model, optimizer)

main(input())

=== FSDP902: keywords built over several statements
def main(mesh):
    kwargs = {"mesh": mesh}
    kwargs.update(reshard_after_forward=True)
    kwargs["auto_wrap_policy"] = None  #-
    kwargs = {**kwargs, "mp_policy": None}
    model = Net()
    for layer in model.layers:
        fully_shard(layer, **kwargs)  # HERE
    fully_shard(model, **dict(kwargs))
    train(model, torch.optim.AdamW(model.parameters()))

main(object())

=== FSDP302: a comprehension
model = Net()
fully_shard(model)  #-
[fully_shard(layer) for layer in model.layers]  # HERE
fully_shard(model)  #+
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP601: lists of models and optimizers
models = [Net() for _ in range(2)]
optimizers = [torch.optim.AdamW(model.parameters()) for model in models]  #-
for model in models:
    shard(model)  # HERE
optimizers = [torch.optim.AdamW(model.parameters()) for model in models]  #+
for model, optimizer in zip(models, optimizers):
    train(model, optimizer)

=== FSDP601: groups by comprehension
model = Net()
decay = [p for p in model.parameters() if p.dim() > 1]  #-
shard(model)  # HERE
decay = [p for p in model.parameters() if p.dim() > 1]  #+
other = [p for n, p in model.named_parameters() if n.endswith("bias")]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": other}])
train(model, optimizer)

=== FSDP601: a list of parameters and a lazy generator
model = Net()
params = list(model.parameters())  #-
params = model.parameters()  #+
shard(model)  # HERE
optimizer = torch.optim.AdamW(params)
train(model, optimizer)

=== FSDP302: a generator of parts
def parts(model):
    for layer in model.layers:
        yield layer
    yield model.head

model = Net()
fully_shard(model)  #-
for part in parts(model):
    fully_shard(part)  # HERE
fully_shard(model)  #+
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP302: a generator that delegates
def inner(model):
    yield from model.layers

def parts(model):
    yield from inner(model)

model = Net()
fully_shard(model)  #-
for part in parts(model):
    fully_shard(part)  # HERE
fully_shard(model)  #+
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP401: an alias of the model
model = Net()
shard(model)
net = model
optimizer = torch.optim.AdamW(net.parameters())
net(torch.ones(2)).sum().backward()
optimizer.step()
net.forward(torch.ones(2))  # HERE #-

=== FSDP401: getattr by name !! only a call of the attribute itself is seen
model = Net()
shard(model)
train(model, torch.optim.AdamW(model.parameters()))
getattr(model, "forward")(torch.ones(2))  # HERE #-
getattr(model, "eval")()  #+

=== FSDP401: a bound method !! only a call of the attribute itself is seen
model = Net()
shard(model)
train(model, torch.optim.AdamW(model.parameters()))
run = model.forward  #-
run = model  #+
run(torch.ones(2))  # HERE

=== FSDP401: a walrus
model = Net()
shard(model)
train(model, torch.optim.AdamW(model.parameters()))
if (net := model) is not None:
    net.forward(torch.ones(2))  # HERE #-
    net(torch.ones(2))  #+

=== FSDP401: setattr and getattr of a holder
class Holder:
    pass

holder = Holder()
setattr(holder, "model", Net())
shard(holder.model)
train(holder.model, torch.optim.AdamW(holder.model.parameters()))
holder.model.forward(torch.ones(2))  # HERE #-
holder.model(torch.ones(2))  #+

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

=== FSDP601: arguments by star
def parallelize(*models, **options):
    for model in models:
        shard(model)

model = Net()
optimizer = torch.optim.AdamW(*[model.parameters()], **{"lr": 1e-3})  #-
parallelize(*[model], verbose=True)  # HERE
optimizer = torch.optim.AdamW(*[model.parameters()], **{"lr": 1e-3})  #+
train(model, optimizer)

=== FSDP601: a callable object
class Parallelize:
    def __call__(self, model):
        shard(model)
        return model

model = Net()
optimizer = torch.optim.AdamW(model.parameters())  #-
Parallelize()(model)  # HERE
optimizer = torch.optim.AdamW(model.parameters())  #+
train(model, optimizer)

=== FSDP601: a class chosen by a branch
class Ours(torch.optim.AdamW):
    pass

def main(ours):
    model = Net()
    cls = Ours if ours else torch.optim.AdamW
    optimizer = cls(model.parameters())  #-
    shard(model)  # HERE
    optimizer = cls(model.parameters())  #+
    train(model, optimizer)

main(input())

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
