import argparse
from dataclasses import dataclass, fields


@dataclass
class JobConfig:
    model: str = "llama"
    flavor: str = "8B"
    steps: int = 1000
    seq_len: int = 4096
    local_batch_size: int = 1
    lr: float = 3e-4
    max_norm: float = 1.0
    tensor_parallel_degree: int = 1
    activation_checkpoint: str = "full"
    compile: int = 0
    checkpoint_folder: str = "outputs/checkpoint"
    checkpoint_interval: int = 500
    resume_step: int = -1
    seed: int = 42


def parse_job_config() -> JobConfig:
    parser = argparse.ArgumentParser()
    for field in fields(JobConfig):
        parser.add_argument("--" + field.name.replace("_", "-"), type=type(field.default), default=field.default)
    return JobConfig(**vars(parser.parse_args()))
