"""Lists, dicts, comprehensions, generators and loops over the parts of a model."""

PAIRS = """
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

=== FSDP601: a pair out of a generator expression
def made(width):
    return nn.Sequential(nn.Linear(2, width), nn.Linear(width, 2))

small, large = (made(width) for width in [4, 1024])
optimizer = torch.optim.AdamW(large.parameters())  #-
for layer in large:
    fully_shard(layer)
fully_shard(large)  # HERE
optimizer = torch.optim.AdamW(large.parameters())  #+
train(large, optimizer)

=== FSDP601: a tuple made of each of a tuple
model, optimizer = Net(), None
parts = tuple(part for part in (model, "cpu"))
optimizer = torch.optim.AdamW(parts[0].parameters())  #-
shard(model)  # HERE
optimizer = torch.optim.AdamW(parts[0].parameters())  #+
train(model, optimizer)

=== FSDP601: a registry filled by a decorator
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

=== FSDP701: a table of a class, of which all is known
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from transformers import PreTrainedModel


class Small(PreTrainedModel):
    pass


class Large(PreTrainedModel):
    pass


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(8)])


class Zoo:
    _kinds = {"small": Small, "large": Large}  #+
    _kinds = {"small": Small, "plain": Plain}  #-

    @classmethod
    def build(cls, kind):
        return cls._kinds[kind]()


def main():
    model = Zoo.build(os.environ["KIND"])
    shard(model)
    gathered = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if hasattr(model, "save_pretrained"):
        if dist.get_rank() == 0:
            torch.save(gathered, "model.bin")
    else:
        torch.save(model.state_dict(), "model.bin")  # HERE


main()

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
    kwargs = {**kwargs, "ignored_params": None}
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
"""
