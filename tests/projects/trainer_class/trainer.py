import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from distributed import cleanup, init_distributed, is_main
from modeling import TextEncoder, VideoTransformer


class Trainer:
    def __init__(self, config):
        self.config = config
        self.mesh = init_distributed()
        self.device = torch.device("cuda")
        torch.manual_seed(config.seed)
        self.global_step = 0
        self._build_models()
        self._apply_activation_checkpointing()
        self._apply_fsdp()
        self._build_optimizer()

    def _build_models(self):
        c = self.config
        self.text_encoder = TextEncoder(c.vocab, c.text_dim, c.text_layers)
        self.text_encoder.requires_grad_(False).eval()
        self.transformer = VideoTransformer(c.channels, c.dim, c.text_dim, c.heads, c.layers)

    def _apply_activation_checkpointing(self):
        blocks = self.transformer.transformer_blocks
        for i in range(len(blocks)):
            blocks[i] = checkpoint_wrapper(blocks[i])

    def _apply_fsdp(self):
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in self.transformer.transformer_blocks:
            fully_shard(block, mesh=self.mesh, mp_policy=policy)
        fully_shard(self.transformer, mesh=self.mesh, mp_policy=policy)
        # frozen: one group is enough, it is gathered once per step
        fully_shard(self.text_encoder, mesh=self.mesh, mp_policy=policy)

    def _build_optimizer(self):
        params = [p for p in self.transformer.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(params, lr=self.config.lr, betas=(0.9, 0.99), eps=1e-8)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=self.config.steps)

    def _next_batch(self, generator):
        c = self.config
        latents = torch.randn(c.batch_size, c.tokens, c.channels, generator=generator)
        prompt = torch.randint(c.vocab, (c.batch_size, c.prompt_len), generator=generator)
        return latents.to(self.device), prompt.to(self.device)

    def train_step(self, latents, prompt):
        with torch.no_grad():
            text = self.text_encoder(prompt)
        noise = torch.randn_like(latents)
        prediction = self.transformer(latents + noise, text)
        loss = torch.nn.functional.mse_loss(prediction.float(), noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.transformer.parameters(), self.config.clip)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def run(self):
        generator = torch.Generator().manual_seed(self.config.seed + dist.get_rank())
        while self.global_step < self.config.steps:
            loss = self.train_step(*self._next_batch(generator))
            self.global_step += 1
            if is_main() and self.global_step % 20 == 0:
                print(f"[{self.global_step}] loss={loss.item():.4f}")
        self.save(self.config.output)
        cleanup()

    def gathered_state_dict(self):
        gathered = {}
        for name, value in self.transformer.state_dict().items():
            full = value.full_tensor() if isinstance(value, DTensor) else value
            if is_main():
                gathered[name.replace("_checkpoint_wrapped_module.", "")] = full.cpu()
        return gathered

    def save(self, path):
        state = self.gathered_state_dict()
        if is_main():
            torch.save({"transformer": state, "step": self.global_step}, path)
