import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from transformers import Trainer


class ShardedTrainer(Trainer):
    """The Trainer's loop, with the model sharded by hand and the optimizer built after that."""

    def shard(self, offload=False):
        mesh = init_device_mesh("cuda", (self.args.world_size,))
        kwargs = {
            "mesh": mesh,
            "mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
        }
        if offload:
            kwargs["offload_policy"] = CPUOffloadPolicy()
        for layer in self.model.model.layers:
            fully_shard(layer, **kwargs)
        fully_shard(self.model, **kwargs)
        self.model_wrapped = self.model

    def build_optimizer(self):
        decay = [p for p in self.model.parameters() if p.ndim > 1]
        rest = [p for p in self.model.parameters() if p.ndim <= 1]
        groups = [{"params": decay, "weight_decay": self.args.weight_decay}, {"params": rest, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=self.args.learning_rate)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    def save_model(self, output_dir=None, _internal_call=False):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = get_model_state_dict(self.model, options=options)
        if self.args.should_save:
            torch.save(state, f"{output_dir or self.args.output_dir}/pytorch_model.bin")
