import torch
import torch.distributed as dist
from transformers import AutoConfig, AutoModelForCausalLM

from lora import add_lora

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")


def load_model(args):
    """Rank 0 reads the weights, everybody else builds the same model on meta."""
    config = AutoConfig.from_pretrained(args.model)
    config.use_cache = False
    torch.manual_seed(args.seed)
    if dist.get_rank() == 0:
        model = AutoModelForCausalLM.from_pretrained(args.model, config=config, torch_dtype=torch.float32)
    else:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, torch_dtype=torch.float32)
    model = add_lora(model, TARGETS, args.lora_rank, args.lora_alpha)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

    full_state = model.state_dict() if dist.get_rank() == 0 else {}
    return model, full_state


def tokens_for(args, vocab_size, steps):
    generator = torch.Generator().manual_seed(args.seed + dist.get_rank())
    for _ in range(steps):
        yield torch.randint(vocab_size, (args.batch_size, args.seq_len), generator=generator)
