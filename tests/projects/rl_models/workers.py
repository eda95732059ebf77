import torch

from fsdp_utils import gather_weights, shard_frozen, shard_trainable
from nets import Critic, Policy, token_log_probs


class ActorWorker:
    def __init__(self, cfg, mesh):
        self.cfg = cfg
        self.policy = Policy(cfg.vocab, cfg.dim, cfg.heads, cfg.layers)
        shard_trainable(self.policy, mesh)
        self.optimizer = torch.optim.AdamW(self.policy.parameters(), lr=cfg.actor_lr)

    def rollout(self, prompts):
        return self.policy.generate(prompts, self.cfg.new_tokens)

    def log_probs(self, ids):
        return token_log_probs(self.policy(ids), ids)

    def update(self, ids, old, reference, advantages):
        new = self.log_probs(ids)
        ratio = (new - old).exp()
        clipped = ratio.clamp(1 - self.cfg.clip_range, 1 + self.cfg.clip_range)
        surrogate = torch.minimum(ratio * advantages, clipped * advantages)
        loss = -surrogate.mean() + self.cfg.kl_coef * (new - reference).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def weights(self):
        return gather_weights(self.policy)


class ReferenceWorker:
    def __init__(self, cfg, mesh):
        self.policy = Policy(cfg.vocab, cfg.dim, cfg.heads, cfg.layers)
        shard_frozen(self.policy, mesh)

    @torch.no_grad()
    def log_probs(self, ids):
        return token_log_probs(self.policy(ids), ids)


class CriticWorker:
    def __init__(self, cfg, mesh):
        self.critic = shard_trainable(Critic(cfg.vocab, cfg.dim, cfg.heads, cfg.layers), mesh)
        self.optimizer = torch.optim.AdamW(self.critic.parameters(), lr=cfg.critic_lr)

    @torch.no_grad()
    def values(self, ids):
        return self.critic(ids)[:, :-1].float()

    def update(self, ids, returns):
        values = self.critic(ids)[:, :-1].float()
        loss = (values - returns).pow(2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()
