import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

from loop import train_loop


def main():
    trainer = TorchTrainer(
        train_loop_per_worker=train_loop,
        train_loop_config={"seed": 0, "classes": 1000, "lr": 1e-4, "epochs": 10, "batch_size": 64},
        scaling_config=ScalingConfig(num_workers=8, use_gpu=True),
        run_config=RunConfig(name="vit-fsdp2"),
        datasets={"train": ray.data.read_images("s3://images/train", mode="RGB")},
    )
    print(trainer.fit().metrics)


if __name__ == "__main__":
    main()
