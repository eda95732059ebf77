import torch
import torch.distributed as dist


def noisy_batch(settings, generator):
    clean = torch.randn(settings.batch, settings.channels, settings.image, settings.image, generator=generator)
    clean = clean.to(settings.device)
    return clean + 0.1 * torch.randn_like(clean), clean


def run(training, settings):
    model, optimizer, scheduler = training
    generator = torch.Generator().manual_seed(dist.get_rank())
    model.train()
    for step in range(settings.steps):
        noisy, clean = noisy_batch(settings, generator)
        loss = torch.nn.functional.l1_loss(model(noisy).float(), clean)
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if step % 100 == 0 and dist.get_rank() == 0:
            print(f"{step:6d} {loss.item():.5f} lr {scheduler.get_last_lr()[0]:.2e}")
    return model
