import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    set_model_state_dict,
)


def load_pretrained(model, folder):
    weights = get_model_state_dict(model)
    dcp.load(weights, checkpoint_id=folder)
    set_model_state_dict(model, weights, options=StateDictOptions(strict=True))


def save(model, folder):
    dcp.save(get_model_state_dict(model), checkpoint_id=folder)
