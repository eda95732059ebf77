import lightning as L
import torch
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from model import Decoder


class LanguageModule(L.LightningModule):
    def __init__(self, vocab=50304, dim=2048, heads=16, depth=24, lr=3e-4):
        super().__init__()
        self.save_hyperparameters()
        self.model = None

    def configure_model(self):
        """Lightning calls this on every rank once the process group and the mesh exist."""
        if self.model is not None:
            return
        h = self.hparams
        torch.manual_seed(0)
        self.model = Decoder(h.vocab, h.dim, h.heads, h.depth)
        mesh = self.device_mesh["data_parallel"]
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in self.model.layers:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(self.model, mesh=mesh, mp_policy=policy)

    def training_step(self, batch, batch_idx):
        logits = self.model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.model.parameters(), lr=self.hparams.lr, foreach=True)
