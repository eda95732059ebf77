import argparse
import json
from types import SimpleNamespace

from trainer import Trainer

DEFAULTS = {
    "channels": 16, "dim": 5120, "heads": 40, "layers": 40,
    "vocab": 32128, "text_dim": 2048, "text_layers": 24, "prompt_len": 226,
    "tokens": 8192, "batch_size": 1, "steps": 10_000, "lr": 1e-5, "clip": 1.0,
    "seed": 42, "output": "transformer.pt",
}  # fmt: skip


def load_config(path):
    values = dict(DEFAULTS)
    if path:
        with open(path) as handle:
            values.update(json.load(handle))
    return SimpleNamespace(**values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="")
    args = parser.parse_args()
    trainer = Trainer(load_config(args.config))
    trainer.run()


if __name__ == "__main__":
    main()
