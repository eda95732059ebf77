"""Classes, their methods, attributes and instances, and other names of an object."""

PAIRS = """
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

=== FSDP601: a named tuple by call
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

=== FSDP601: a cached property that builds
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

=== FSDP401: setattr and getattr of a holder
class Holder:
    pass

holder = Holder()
setattr(holder, "model", Net())
shard(holder.model)
train(holder.model, torch.optim.AdamW(holder.model.parameters()))
holder.model.forward(torch.ones(2))  # HERE #-
holder.model(torch.ones(2))  #+

=== FSDP402: entries of a module dict as attributes
class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(wte=nn.Embedding(100, 64), h=nn.ModuleList([Block() for _ in range(8)]), ln=nn.LayerNorm(64))
        )

    def embed(self, tokens):
        return self.transformer.wte(tokens)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.transformer.h:
            x = block(x)
        return self.transformer.ln(x)


model = Gpt()
for block in model.transformer.h:
    fully_shard(block)
fully_shard(model)
first = model.embed(torch.ones(2))  # HERE #-
train(model, torch.optim.AdamW(model.parameters()))

=== FSDP401: an alias of the model
model = Net()
shard(model)
net = model
optimizer = torch.optim.AdamW(net.parameters())
net(torch.ones(2)).sum().backward()
optimizer.step()
net.forward(torch.ones(2))  # HERE #-

=== FSDP401: getattr by name
model = Net()
shard(model)
train(model, torch.optim.AdamW(model.parameters()))
getattr(model, "forward")(torch.ones(2))  # HERE #-
getattr(model, "eval")()  #+

=== FSDP401: a bound method
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
"""
