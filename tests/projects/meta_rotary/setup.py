import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from model import Decoder
from weights import load_pretrained


def shard(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def materialise(model, args, device):
    model.to_empty(device=device)
    with torch.no_grad():
        if args.pretrained:
            load_pretrained(model, args.pretrained)
        else:
            model.init_weights()
    model.restore_buffers(device)


def create_model(args, mesh, device):
    with torch.device("meta"):
        model = Decoder(args.vocab, args.dim, args.heads, args.depth)
    shard(model, mesh)
    materialise(model, args, device)
    return model
