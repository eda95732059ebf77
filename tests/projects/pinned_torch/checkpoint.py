import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


class Checkpoints:
    def __init__(self, folder, every):
        self.folder = folder
        self.every = every

    def save(self, model, step):
        if step % self.every == 0:
            options = StateDictOptions(cpu_offload=True)
            dcp.save({"model": get_model_state_dict(model, options=options)}, checkpoint_id=f"{self.folder}/{step}")
