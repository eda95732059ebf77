import os


def local_device():
    import torch

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda")


def join():
    import torch.distributed as dist

    dist.init_process_group("nccl")
    try:
        from torch.distributed.device_mesh import init_device_mesh
    except ImportError:
        from torch.distributed._tensor.device_mesh import init_device_mesh
    return init_device_mesh("cuda", (dist.get_world_size(),))
