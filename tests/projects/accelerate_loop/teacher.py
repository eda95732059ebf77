import torch
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM


def load_teacher(name):
    """The frozen teacher is no business of the accelerator: it is sharded by hand, block by block."""
    teacher = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    teacher.requires_grad_(False).eval()
    for layer in teacher.model.layers:
        fully_shard(layer)
    fully_shard(teacher)
    return teacher


def soft_targets(teacher, batch, temperature):
    with torch.no_grad():
        logits = teacher(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return torch.softmax(logits.float() / temperature, dim=-1)
