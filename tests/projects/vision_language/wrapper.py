from torch import nn


class CaptionLoss(nn.Module):
    """Thin module around the sharded core: no parameters of its own."""

    def __init__(self, core):
        super().__init__()
        self.core = core
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, images, ids):
        logits = self.core(images, ids[:, :-1])
        return self.criterion(logits.flatten(0, 1).float(), ids[:, 1:].flatten())

    def trainable(self):
        return [p for p in self.core.parameters() if p.requires_grad]
