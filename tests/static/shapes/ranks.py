"""Faults with checkpoints, ranks, data and versions, in other shapes than on the pages, and what is right beside them."""

from __future__ import annotations

from .projects import Edited, functions, trainer

SAVE = (
    "        model, optimizer = get_state_dict(self.model, self.optimizer)\n"
    '        state = {"model": model, "optimizer": optimizer, "step": self.step}\n'
    '        dcp.save(state, checkpoint_id=f"{self.settings.folder}/{self.step}")\n'
)
STATEFUL = """class TrainState:
    def __init__(self, trainer):
        self.trainer = trainer

    def state_dict(self):
        return {{
            "model": get_model_state_dict(self.trainer.model),
            "optimizer": {},
            "step": self.trainer.step,
            "rng": {},
        }}

    def load_state_dict(self, state):
        set_model_state_dict(self.trainer.model, state["model"])


class Trainer:
"""
NAMES, NUMBERS = (
    "get_optimizer_state_dict(self.trainer.model, self.trainer.optimizer)",
    "self.trainer.optimizer.state_dict()",
)
SAVE_STATEFUL = (
    SAVE,
    '        dcp.save({"app": TrainState(self)}, checkpoint_id=f"{self.settings.folder}/{self.step}")\n',
)
UTILS_SAVE = (
    '    state = {\n        "model": get_model_state_dict(model),\n'
    '        "optimizer": get_optimizer_state_dict(model, optimizer),\n        "epoch": epoch,\n    }\n'
    '    dcp.save(state, checkpoint_id=os.path.join(args.output, f"epoch{epoch}"))\n'
)
SAVED = "        utils.save_checkpoint(model, optimizer, epoch, args)\n"
WHOLE = (
    "    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)\n"
    "    state = get_model_state_dict(model, options=whole)\n"
)
SAMPLER = "    sampler = DistributedSampler(dataset, shuffle=True)\n"
SAMPLED = "    sampler = DistributedSampler(dataset, seed=settings.seed)\n"
PERIODIC = "                if self.step % self.settings.save_every == 0:\n                    self.save()\n"
AFTER_EVALUATION = "            self.evaluate()\n"
ENGINE_LOSS = "        loss = F.cross_entropy(model(images), labels) / args.accum\n        loss.backward()\n"
ONE_DIM = 'init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))'
OFFLOAD_HSDP = 'init_device_mesh("cuda", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard"))'
STOP = """import signal


class Stop:
    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGTERM, self.handle)

    def handle(self, number, frame):
        self.asked = True


class Trainer:
"""

FAULTS: dict[str, list[Edited]] = {
    "FSDP701": [
        # The library's own way to save, on the main process.
        functions(
            (UTILS_SAVE, "    if is_main():\n        model.save_pretrained(args.output)  # fault\n"),
            (
                "def build_model(args):\n    return Net(args.width, args.depth, 10)\n",
                "def build_model(args):\n    return AutoModelForCausalLM.from_pretrained(args.base)\n",
            ),
            (
                "import torch\nimport torch.nn as nn\n\n\nclass Layer",
                "import torch\nimport torch.nn as nn\nfrom transformers import AutoModelForCausalLM\n\n\nclass Layer",
            ),
            ("    for layer in model.layers:\n", "    for layer in model.model.layers:\n"),
            (
                '    parser.add_argument("--accum"',
                '    parser.add_argument("--base", default="gpt2")\n    parser.add_argument("--accum"',
            ),
        ),
        functions(
            (
                UTILS_SAVE,
                '    weights = get_peft_model_state_dict(model)\n    if is_main():\n        torch.save(weights, os.path.join(args.output, "adapter.pt"))  # fault\n',
            ),
            (
                "import torch.distributed.checkpoint as dcp\n",
                "import torch.distributed.checkpoint as dcp\nfrom peft import get_peft_model_state_dict\n",
            ),
            (
                "import torch\nimport torch.nn as nn\n\n\nclass Layer",
                "import torch\nimport torch.nn as nn\nfrom peft import LoraConfig, get_peft_model\n\n\nclass Layer",
            ),
            (
                "    return Net(args.width, args.depth, 10)\n",
                "    return get_peft_model(Net(args.width, args.depth, 10), LoraConfig(target_modules=['0', '2']))\n",
            ),
        ),
    ],
    "FSDP703": [
        trainer(
            (
                "\n    def save(self):\n",
                '\n    def resume(self, folder):\n        state = {"model": {}, "step": 0}\n        dcp.load(state, checkpoint_id=folder)  # fault\n'
                '        set_model_state_dict(self.model, state["model"])\n        self.step = state["step"]\n\n    def save(self):\n',
            ),
            (
                "        for epoch in range(self.settings.epochs):\n",
                "        if self.settings.resume:\n            self.resume(self.settings.resume)\n        for epoch in range(self.settings.epochs):\n",
            ),
            ("    # more\n", '    resume: str = ""\n'),
        ),
        functions(
            (
                "def is_main():\n",
                "def load_base(model, path):\n    options = StateDictOptions(full_state_dict=True, strict=False)\n"
                "    set_model_state_dict(model, torch.load(path), options=options)  # fault\n\n\ndef is_main():\n",
            ),
            ("    optimizer = torch", '    utils.load_base(model, "base.pt")\n    optimizer = torch'),
        ),
    ],
    "FSDP712": [
        trainer(
            ("class Trainer:\n", STATEFUL.format(NAMES, "torch.get_rng_state()")),
            (SAVE_STATEFUL[0], SAVE_STATEFUL[1].replace("\n", "  # fault\n")),
            (
                "        torch.manual_seed(settings.seed)\n",
                "        torch.manual_seed(settings.seed + dist.get_rank())\n",
            ),
            (
                "        self.optimizer = torch",
                '        set_model_state_dict(self.model, torch.load("start.pt"), options=StateDictOptions(full_state_dict=True))\n        self.optimizer = torch',
            ),
        ),
        functions(
            ('        "epoch": epoch,\n', '        "epoch": epoch,\n        "loader": loader.state_dict(),\n'),
            (
                "def save_checkpoint(model, optimizer, epoch, args):\n",
                "def save_checkpoint(model, optimizer, loader, epoch, args):\n",
            ),
            (SAVED, SAVED.replace("optimizer, epoch", "optimizer, loader, epoch")),
            (
                "from torch.utils.data import DataLoader, DistributedSampler, TensorDataset\n",
                "from torch.utils.data import DistributedSampler, TensorDataset\nfrom torchdata.stateful_dataloader import StatefulDataLoader\n",
            ),
            ("    loader = DataLoader(", "    loader = StatefulDataLoader("),
            (
                '    dcp.save(state, checkpoint_id=os.path.join(args.output, f"epoch{epoch}"))\n',
                '    dcp.save(state, checkpoint_id=os.path.join(args.output, f"epoch{epoch}"))  # fault\n',
            ),
        ),
    ],
    "FSDP713": [
        trainer(
            ("class Trainer:\n", STATEFUL.format(NUMBERS, "None")),
            (SAVE_STATEFUL[0], SAVE_STATEFUL[1].replace("\n", "  # fault\n")),
        ),
        functions(
            ("get_optimizer_state_dict(model, optimizer),\n", "optimizer.state_dict(),\n"),
            ('f"epoch{epoch}"))\n', 'f"epoch{epoch}"))  # fault\n'),
        ),
    ],
    "FSDP714": [
        trainer(
            (
                SAVE,
                "        state = get_model_state_dict(self.model, options=self.options)\n"
                '        os.makedirs(self.settings.folder, exist_ok=True)\n        torch.save(state, os.path.join(self.settings.folder, f"{self.step}.pt"))  # fault\n',
            ),
            (
                "        self.step = 0\n",
                "        self.step = 0\n        self.options = StateDictOptions(full_state_dict=True, cpu_offload=True)\n",
            ),
        ),
        functions(
            (
                UTILS_SAVE,
                WHOLE + '    save_file(state, os.path.join(args.output, f"epoch{epoch}.safetensors"))  # fault\n',
            ),
            (
                "import torch.distributed.checkpoint as dcp\n",
                "import torch.distributed.checkpoint as dcp\nfrom safetensors.torch import save_file\n",
            ),
        ),
    ],
    "FSDP801": [
        trainer(
            (
                AFTER_EVALUATION,
                "            value = self.evaluate().item()\n            if value < self.best:\n                self.best = value\n                self.save()\n",
            ),
            (
                "        model, optimizer = get_state_dict(self.model, self.optimizer)\n",
                "        model, optimizer = get_state_dict(self.model, self.optimizer)  # near\n",
            ),
        ),
        functions(
            (
                "    for epoch in range(args.epochs):\n",
                "    start = time.monotonic()\n    for epoch in range(args.epochs):\n",
            ),
            (SAVED, "        if time.monotonic() - start > args.minutes * 60:\n    " + SAVED + "            break\n"),
            ("import argparse\nimport os\n", "import argparse\nimport os\nimport time\n"),
            (
                '    parser.add_argument("--accum"',
                '    parser.add_argument("--minutes", type=float, default=10.0)\n    parser.add_argument("--accum"',
            ),
        ),
        trainer(
            ("class Trainer:\n", STOP),
            ("        self.step = 0\n", "        self.step = 0\n        self.stop = Stop()\n"),
            (
                PERIODIC,
                "                if self.stop.asked:\n                    self.save()\n                    return\n",
            ),
        ),
        functions(
            (
                "    for epoch in range(args.epochs):\n",
                '    if os.path.exists("/tmp/run/last"):\n        utils.resume(model)\n    for epoch in range(args.epochs):\n',
            ),
            (
                "def is_main():\n",
                'def resume(model):\n    state = {"model": get_model_state_dict(model)}\n    dcp.load(state, checkpoint_id="/tmp/run/last")  # near\n    set_model_state_dict(model, state["model"])\n\n\ndef is_main():\n',
            ),
        ),
    ],
    "FSDP806": [
        trainer(
            (
                SAVE,
                '        wanted = {name for name, _ in self.model.named_parameters()} - {"head.bias"}\n        values = dict(self.model.named_parameters())\n'
                "        whole = {}\n        for name in wanted:\n            whole[name] = values[name].full_tensor().cpu()  # fault\n        return whole\n",
            ),
        ),
        functions(
            (
                UTILS_SAVE,
                "    trained = frozenset(p for group in optimizer.param_groups for p in group['params'])\n"
                "    whole = [p.full_tensor() for p in trained]  # fault\n    if is_main():\n        torch.save(whole, args.output)\n",
            ),
        ),
    ],
    "FSDP808": [
        trainer(
            (
                SAMPLED,
                "    sampler = DistributedSampler(\n        dataset,\n        num_replicas=dist.get_world_size(),\n        rank=settings.local_rank,\n        seed=settings.seed,\n    )\n",
            ),
            ("    # more\n", '    local_rank: int = int(os.environ.get("LOCAL_RANK", 0))\n'),
            ("import argparse\nfrom dataclasses", "import argparse\nimport os\nfrom dataclasses"),
            ("    return DataLoader(dataset", "    return DataLoader(dataset"),
        ),
        functions(
            (
                "    dataset = get_dataset()\n"
                + SAMPLER
                + "    loader = DataLoader(dataset, batch_size=2, sampler=sampler, drop_last=True)\n",
                "    dataset = get_dataset()\n    sampler = None\n    loader = DataLoader(dataset, batch_size=2, drop_last=True)\n",
            ),
            ("        sampler.set_epoch(epoch)\n", ""),
        ),
    ],
    "FSDP811": [
        trainer(
            (
                SAMPLED,
                "    seed = settings.seed * 1000 + dist.get_rank()\n    sampler = DistributedSampler(dataset, seed=seed)  # fault\n",
            )
        ),
        # Seeded for each rank, and the sampler takes the same number.
        functions(
            (
                "    torch.manual_seed(args.seed)\n",
                "    args.seed += dist.get_rank()\n    torch.manual_seed(args.seed)\n",
            ),
            (SAMPLER, "    sampler = DistributedSampler(dataset, shuffle=True, seed=args.seed)  # fault\n"),
            (
                "    optimizer = torch",
                '    utils.set_model_state_dict(model, torch.load("start.pt"), options=utils.StateDictOptions(full_state_dict=True))\n    optimizer = torch',
            ),
        ),
        functions(
            (SAMPLER, "    sampler = DistributedSampler(dataset, seed=int(time.time()))  # fault\n"),
            ("import argparse\nimport os\n", "import argparse\nimport os\nimport time\n"),
        ),
    ],
}

CORRECT: dict[str, list[Edited]] = {
    "FSDP701": [
        functions(
            (UTILS_SAVE, WHOLE + "    if is_main():\n        model.save_pretrained(args.output, state_dict=state)\n"),
            (
                "def build_model(args):\n    return Net(args.width, args.depth, 10)\n",
                "def build_model(args):\n    return AutoModelForCausalLM.from_pretrained(args.base)\n",
            ),
            (
                "import torch\nimport torch.nn as nn\n\n\nclass Layer",
                "import torch\nimport torch.nn as nn\nfrom transformers import AutoModelForCausalLM\n\n\nclass Layer",
            ),
            ("    for layer in model.layers:\n", "    for layer in model.model.layers:\n"),
            (
                '    parser.add_argument("--accum"',
                '    parser.add_argument("--base", default="gpt2")\n    parser.add_argument("--accum"',
            ),
        ),
        functions(
            (
                UTILS_SAVE,
                "    whole = {name: value.full_tensor().cpu() for name, value in model.state_dict().items()}\n    if is_main():\n        torch.save(whole, args.output)\n",
            )
        ),
        trainer(
            (
                SAVE,
                SAVE
                + '        if dist.get_rank() == 0:\n            torch.save({"step": self.step, "scheduler": self.scheduler.state_dict()}, "rest.pt")\n',
            )
        ),
    ],
    "FSDP703": [
        trainer(
            (
                "\n    def save(self):\n",
                '\n    def resume(self, folder):\n        state = {"model": get_model_state_dict(self.model), "step": 0}\n        dcp.load(state, checkpoint_id=folder)\n'
                '        set_model_state_dict(self.model, state["model"])\n        self.step = state["step"]\n\n    def save(self):\n',
            ),
            (
                "        for epoch in range(self.settings.epochs):\n",
                "        if self.settings.resume:\n            self.resume(self.settings.resume)\n        for epoch in range(self.settings.epochs):\n",
            ),
            ("    # more\n", '    resume: str = ""\n'),
        ),
        functions(
            (
                "def is_main():\n",
                "def load_base(model, path):\n    options = StateDictOptions(full_state_dict=True, strict=False)\n"
                "    result = set_model_state_dict(model, torch.load(path), options=options)\n"
                "    assert not result.unexpected_keys, result.unexpected_keys\n\n\ndef is_main():\n",
            ),
            ("    optimizer = torch", '    utils.load_base(model, "base.pt")\n    optimizer = torch'),
        ),
        functions(
            (
                "def is_main():\n",
                "def load_base(model, path):\n    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)\n"
                "    set_model_state_dict(model, torch.load(path) if is_main() else {}, options=options)\n\n\ndef is_main():\n",
            ),
            ("    optimizer = torch", '    utils.load_base(model, "base.pt")\n    optimizer = torch'),
        ),
    ],
    "FSDP712": [
        trainer(
            (
                "class Trainer:\n",
                STATEFUL.format(NAMES, "torch.get_rng_state()").replace('"rng":', 'f"rng_{dist.get_rank()}":'),
            ),
            SAVE_STATEFUL,
        ),
        functions(
            (
                "    dcp.save(state, ",
                '    torch.save(torch.get_rng_state(), os.path.join(args.output, f"rng{dist.get_rank()}.pt"))\n    dcp.save(state, ',
            ),
        ),
        functions(
            (
                "    state = {\n",
                "    generators = [None] * dist.get_world_size()\n    dist.all_gather_object(generators, torch.get_rng_state())\n    state = {\n",
            ),
            ('        "epoch": epoch,\n', '        "epoch": epoch,\n        "generators": generators,\n'),
        ),
        functions(
            (
                '        "epoch": epoch,\n',
                '        "epoch": epoch,\n        "args": vars(args),\n        "world": dist.get_world_size(),\n',
            )
        ),
    ],
    "FSDP713": [
        trainer(("class Trainer:\n", STATEFUL.format(NAMES, "None")), SAVE_STATEFUL),
        functions(
            (
                "    dcp.save(",
                '    torch.save(optimizer.state_dict(), os.path.join(args.output, f"optimizer{dist.get_rank()}.pt"))\n    dcp.save(',
            )
        ),
        trainer(
            (SAVE, SAVE.replace('"step": self.step', '"scheduler": self.scheduler.state_dict(), "step": self.step'))
        ),
    ],
    "FSDP714": [
        functions(
            (
                UTILS_SAVE,
                WHOLE + '    if is_main():\n        torch.save(state, os.path.join(args.output, f"epoch{epoch}.pt"))\n',
            )
        ),
        functions(
            (
                UTILS_SAVE,
                WHOLE
                + '    if not is_main():\n        return\n    torch.save(state, os.path.join(args.output, f"epoch{epoch}.pt"))\n',
            )
        ),
        functions(
            (
                UTILS_SAVE,
                WHOLE
                + '    if len(state) > 0:\n        torch.save(state, os.path.join(args.output, f"epoch{epoch}.pt"))\n',
            )
        ),
        functions(
            (
                UTILS_SAVE,
                WHOLE + '    torch.save(state, os.path.join(args.output, f"epoch{epoch}-{dist.get_rank()}.pt"))\n',
            )
        ),
    ],
    "FSDP801": [
        trainer(
            (
                AFTER_EVALUATION,
                "            value = self.evaluate()\n            dist.all_reduce(value)\n            if value.item() < self.best:\n                self.best = value.item()\n                self.save()\n",
            ),
        ),
        functions(
            (
                "    for epoch in range(args.epochs):\n",
                "    start = time.monotonic()\n    for epoch in range(args.epochs):\n",
            ),
            (
                SAVED,
                "        late = torch.tensor(float(time.monotonic() - start > 600))\n        dist.broadcast(late, src=0)\n        if late.item():\n    "
                + SAVED
                + "            break\n",
            ),
            ("import argparse\nimport os\n", "import argparse\nimport os\nimport time\n"),
        ),
        trainer(
            ("class Trainer:\n", STOP),
            ("        self.step = 0\n", "        self.step = 0\n        self.stop = Stop()\n"),
            (
                PERIODIC,
                "                asked = torch.tensor(int(self.stop.asked))\n                dist.all_reduce(asked, op=dist.ReduceOp.MAX)\n                if asked.item():\n                    self.save()\n                    return\n",
            ),
        ),
        functions(
            (
                "    for epoch in range(args.epochs):\n",
                "    import time\n    for epoch in range(args.epochs):\n        begun = time.time()\n",
            ),
            (SAVED, SAVED + '        if time.time() - begun > 60 and utils.is_main():\n            print("slow")\n'),
        ),
    ],
    "FSDP806": [
        trainer(
            (
                SAVE,
                '        wanted = {name for name, _ in self.model.named_parameters()} - {"head.bias"}\n        values = dict(self.model.named_parameters())\n'
                "        return {name: values[name].full_tensor().cpu() for name in sorted(wanted)}\n",
            ),
        ),
        trainer(
            (
                SAVE,
                '        left_out = set(self.settings.folder.split(","))\n        whole = {}\n        for name, value in self.model.named_parameters():\n'
                "            if name not in left_out:\n                whole[name] = value.full_tensor()\n        return whole\n",
            ),
        ),
        functions(
            (
                UTILS_SAVE,
                "    trained = dict.fromkeys(p for group in optimizer.param_groups for p in group['params'])\n"
                "    whole = [p.full_tensor() for p in trained]\n    if is_main():\n        torch.save(whole, args.output)\n",
            ),
        ),
    ],
    "FSDP808": [
        trainer(
            (
                SAMPLED,
                "    sampler = DistributedSampler(dataset, num_replicas=settings.world, rank=settings.rank, seed=settings.seed)\n",
            ),
            (
                "    # more\n",
                '    rank: int = int(os.environ.get("RANK", 0))\n    world: int = int(os.environ.get("WORLD_SIZE", 1))\n',
            ),
            ("import argparse\nfrom dataclasses", "import argparse\nimport os\nfrom dataclasses"),
        ),
        functions(
            (
                "    dataset = get_dataset()\n" + SAMPLER,
                "    whole = get_dataset()\n    dataset = torch.utils.data.Subset(whole, range(dist.get_rank(), len(whole), dist.get_world_size()))\n    sampler = None\n",
            ),
            ("        sampler.set_epoch(epoch)\n", ""),
        ),
        # Each node has its own files.
        functions(
            (
                SAMPLER,
                '    sampler = DistributedSampler(dataset, num_replicas=8, rank=int(os.environ["LOCAL_RANK"]))\n',
            ),
            ("    dataset = get_dataset()\n", '    dataset = get_dataset(int(os.environ["GROUP_RANK"]))\n'),
            (
                "def get_dataset():\n    generator = torch.Generator().manual_seed(7)\n",
                "def get_dataset(node):\n    generator = torch.Generator().manual_seed(7 + node)\n",
            ),
        ),
    ],
    "FSDP811": [
        functions(
            (
                "    torch.manual_seed(args.seed)\n",
                "    torch.manual_seed(args.seed)\n    dropout = torch.Generator().manual_seed(args.seed + dist.get_rank())\n",
            ),
            (SAMPLER, "    sampler = DistributedSampler(dataset, shuffle=True, seed=args.seed)\n"),
        ),
        trainer((SAMPLED, "    sampler = DistributedSampler(dataset, seed=settings.seed + 1000 * settings.epochs)\n")),
        functions(
            (
                SAMPLER,
                "    seed = torch.tensor(int(time.time()))\n    dist.broadcast(seed, src=0)\n    sampler = DistributedSampler(dataset, seed=int(seed.item()))\n",
            ),
            ("import argparse\nimport os\n", "import argparse\nimport os\nimport time\n"),
        ),
    ],
}
