"""Faults in forwards, initialisation and precision, in other shapes than on the pages, and what is right beside them."""

from __future__ import annotations

from .projects import Edited, functions, trainer

META = (
    "shard(Transformer(ModelArgs()), self.mesh, settings)\n",
    "self.build(settings)\n",
)
BUILD = """
    def build(self, settings):
        with torch.device("meta"):
            model = Transformer(ModelArgs())
        shard(model, self.mesh, settings)
{}        return model

    def loss("""
OFFLOADED = (
    'options = {"mesh": mesh}',
    'options = {"mesh": mesh, "offload_policy": CPUOffloadPolicy(pin_memory=settings.pinned)}',
)
PINNED = ("    # more\n", "    pinned: bool = False\n")
INIT = (
    "@dataclass\nclass ModelArgs:\n",
    """def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.trunc_normal_(module.weight, std=0.02){}
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.LayerNorm):
        module.reset_parameters()


@dataclass
class ModelArgs:
""",
)
IMPORT_INIT = ("from model import ModelArgs, Transformer\n", "from model import ModelArgs, Transformer, init_weights\n")
LOSS = "            loss = self.loss(batch) / len(micro_batches)\n"
BACKWARD = "            loss.backward()\n            total += loss.item()\n"
EMA = (
    "class Trainer:\n",
    """class Average:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in model.parameters()]
        self.kept = []

    @torch.no_grad()
    def update(self, model):
        for mean, p in zip(self.shadow, model.parameters()):
            mean.lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def swap_in(self, model):
        self.kept = [p.detach().clone() for p in model.parameters()]
        for mean, p in zip(self.shadow, model.parameters()):
            p.copy_(mean)

    @torch.no_grad()
    def swap_out(self, model):
        for kept, p in zip(self.kept, model.parameters()):
            p.copy_(kept)


class Trainer:
""",
)
AVERAGE = ("        self.step = 0\n", "        self.step = 0\n        self.average = Average(self.model)\n")
ENGINE_LOSS = "        loss = F.cross_entropy(model(images), labels) / args.accum\n        loss.backward()\n"
ENGINE_STEP = "            optimizer.step()\n            optimizer.zero_grad()\n"
FORWARD = "        for block in self.blocks:\n            x = block(x)\n        return self.head(x)\n"
CLIP = "        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)\n"
LAYERS = "        for layer in self.layers:\n            x = layer(x)\n        return self.fc(x)\n"
ENGINE_CLIP = "            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)\n"
POLICY = '    policy = MixedPrecisionPolicy({})\n    options = {{"mesh": mesh, "mp_policy": policy}}\n'
OPTIONS = '    options = {"mesh": mesh}\n'
SHARD = "    for layer in model.layers:\n        fully_shard(layer)\n    fully_shard(model)\n"

FAULTS: dict[str, list[Edited]] = {
    "FSDP208": [
        trainer(
            META,
            OFFLOADED,
            PINNED,
            IMPORT_INIT,
            (INIT[0], INIT[1].format("  # fault")),
            (
                "\n    def loss(",
                BUILD.format(
                    '        model.to_empty(device="cpu")\n        torch.manual_seed(settings.seed)\n        model.apply(init_weights)\n'
                ),
            ),
        ),
        functions(
            (
                "def build_model(args):\n    return Net(args.width, args.depth, 10)\n",
                "def build_model(args):\n    with torch.device('meta'):\n        return Net(args.width, args.depth, 10)\n\n\n"
                "@torch.no_grad()\ndef materialise(model):\n    model.to_empty(device='cpu')\n"
                "    for weight in model.parameters():\n        if weight.dim() > 1:\n"
                "            weight.normal_(std=0.02)  # fault\n        else:\n            weight.zero_()\n",
            ),
            ("from net import build_model\n", "from net import build_model, materialise\n"),
            (SHARD, SHARD + "    materialise(model)\n"),
        ),
    ],
    "FSDP408": [
        # The averaged weights are put in for a teacher, between a loss and its backward.
        trainer(
            EMA,
            AVERAGE,
            (
                LOSS,
                LOSS
                + "            self.average.swap_in(self.model)\n            with torch.no_grad():\n                teacher = self.loss(batch)\n"
                "            loss = loss + 0.0 * teacher\n",
            ),
            (
                BACKWARD,
                BACKWARD.replace("()\n", "()  # fault\n", 1) + "            self.average.swap_out(self.model)\n",
            ),
        ),
        functions(
            (
                "def is_main():\n",
                "@torch.no_grad()\ndef keep_small(model, limit=1.0):\n    for weight in model.parameters():\n"
                "        weight.clamp_(-limit, limit)\n\n\ndef is_main():\n",
            ),
            (
                ENGINE_LOSS,
                ENGINE_LOSS.replace(
                    "        loss.backward()\n", "        utils.keep_small(model)\n        loss.backward()  # fault\n"
                ),
            ),
        ),
        functions(
            (
                ENGINE_LOSS,
                ENGINE_LOSS.replace(
                    "        loss.backward()\n",
                    "        for weight in model.fc.parameters():\n            weight.data.mul_(0.9)\n        loss.backward()  # fault\n",
                ),
            ),
        ),
    ],
    "FSDP405": [
        # Layers are left out by a draw of each rank.
        trainer(
            (
                FORWARD,
                "        for block in self.blocks:\n            if self.training and torch.rand(()).item() < 0.1:\n                continue\n"
                "            x = block(x)  # fault\n        return self.head(x)\n",
            ),
            (
                "        torch.manual_seed(settings.seed)\n",
                "        torch.manual_seed(settings.seed + dist.get_rank())\n",
            ),
        ),
        # A tower runs for batches that have something for it.
        functions(
            (
                "        self.fc = nn.Linear(width, classes)\n",
                "        self.fc = nn.Linear(width, classes)\n        self.extra = Layer(width)\n",
            ),
            (
                LAYERS,
                LAYERS.replace(
                    "        return",
                    "        if (x > 3.0).any():\n            x = self.extra(x)  # fault\n        return",
                ),
            ),
            ("    fully_shard(model)\n", "    fully_shard(model.extra)\n    fully_shard(model)\n"),
        ),
    ],
    "FSDP407": [
        # A look at the loss behind the backward, in front of the step.
        trainer(
            (CLIP, CLIP + "        self.log(micro_batches[0])\n"),
            (
                "\n    def train_step(",
                '\n    @torch.no_grad()\n    def log(self, batch):\n        print("after", self.loss(batch).item())  # near\n\n    def train_step(',
            ),
        ),
        # Gathered early, so that the next forward need not wait.
        functions(
            (ENGINE_STEP, "            utils.prefetch(model)\n" + ENGINE_STEP),
            (
                "def is_main():\n",
                "def prefetch(model):\n    model.unshard(async_op=True)  # fault\n\n\ndef is_main():\n",
            ),
        ),
        trainer(
            ("    # more\n", "    keep_gathered: bool = True\n"),
            (
                "    fully_shard(model, **options)\n",
                "    fully_shard(model, **options)\n    model.set_reshard_after_backward(False)  # fault\n",
            ),
        ),
    ],
    "FSDP502": [
        trainer(
            (OPTIONS, POLICY.format("param_dtype=getattr(torch, settings.dtype)")),
            ("    # more\n", '    dtype: str = "bfloat16"\n'),
        ),
        functions(
            (
                SHARD,
                "    policy = utils.policy()\n    for layer in model.layers:\n        fully_shard(layer, mp_policy=policy)\n    fully_shard(model, mp_policy=policy)\n",
            ),
            (
                "def is_main():\n",
                "def policy():\n    return MixedPrecisionPolicy(torch.bfloat16)  # fault\n\n\ndef is_main():\n",
            ),
            (
                "import torch.distributed.checkpoint as dcp\n",
                "import torch.distributed.checkpoint as dcp\nfrom torch.distributed.fsdp import MixedPrecisionPolicy\n",
            ),
        ),
        trainer(
            (
                OPTIONS,
                POLICY.format("param_dtype=torch.bfloat16, cast_forward_inputs=True").replace(
                    "True)\n", "True)  # fault\n"
                ),
            ),
        ),
    ],
    "FSDP311": [
        trainer(
            (
                'init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))',
                'init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))',
            ),
            ("        fully_shard(block, **options)\n", "        fully_shard(block, **options)  # fault\n"),
        ),
        functions(
            (
                SHARD,
                "    mesh = utils.build_mesh(args)\n    for layer in model.layers:\n        fully_shard(layer, mesh=mesh)  # fault\n    fully_shard(model, mesh=mesh)\n",
            ),
            (
                "def is_main():\n",
                'def build_mesh(args):\n    return init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=["fsdp", "cp"])\n\n\ndef is_main():\n',
            ),
            (
                "import torch.distributed.checkpoint as dcp\n",
                "import torch.distributed.checkpoint as dcp\nfrom torch.distributed.device_mesh import init_device_mesh\n",
            ),
        ),
    ],
    "FSDP314": [
        # Norms stay in float32.
        trainer(
            (
                "    for block in model.blocks:\n",
                "    model.to(torch.bfloat16)\n    for part in model.modules():\n        if isinstance(part, torch.nn.LayerNorm):\n            part.float()\n    for block in model.blocks:\n",
            ),
            ("        fully_shard(block, **options)\n", "        fully_shard(block, **options)  # fault\n"),
        ),
        functions(
            (
                "class Layer(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n",
                "class Layer(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        self.scale = nn.Parameter(torch.ones(width, dtype=torch.float32))\n",
            ),
            ("nn.Linear(width, 2 * width), nn.ReLU()", "nn.Linear(width, 2 * width, dtype=torch.bfloat16), nn.ReLU()"),
            ("        fully_shard(layer)\n", "        fully_shard(layer)  # fault\n"),
        ),
    ],
    "FSDP317": [
        # Which parameters decay is written on them, and read for the optimizer.
        trainer(
            (
                "        self.head = nn.Linear(args.dim, args.vocab)\n",
                "        self.head = nn.Linear(args.dim, args.vocab)\n        for weight in self.parameters():\n            weight.no_decay = weight.dim() < 2\n",
            ),
            (
                "        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.lr)\n",
                "        self.optimizer = torch.optim.AdamW(self.groups(), lr=settings.lr)\n",
            ),
            (
                "\n    def loss(",
                '\n    def groups(self):\n        flat = [p for p in self.model.parameters() if getattr(p, "no_decay", False)]\n'
                '        rest = [p for p in self.model.parameters() if not getattr(p, "no_decay", False)]\n'
                '        return [{"params": flat, "weight_decay": 0.0}, {"params": rest}]\n\n    def loss(',
            ),
            ("        fully_shard(block, **options)\n", "        fully_shard(block, **options)  # near\n"),
        ),
        functions(
            ("    model = build_model(args)\n", "    model = build_model(args)\n    utils.clamp_gradients(model)\n"),
            (
                "def is_main():\n",
                "def clamp_gradients(model):\n    for weight in model.parameters():\n        weight.register_hook(lambda grad: grad.clamp(-1, 1))\n\n\ndef is_main():\n",
            ),
            ("        fully_shard(layer)\n", "        fully_shard(layer)  # near\n"),
        ),
    ],
}

CORRECT: dict[str, list[Edited]] = {
    "FSDP208": [
        trainer(
            OFFLOADED,
            PINNED,
            IMPORT_INIT,
            (INIT[0], INIT[1].format("")),
            (
                "shard(Transformer(ModelArgs()), self.mesh, settings)\n",
                "shard(Transformer(ModelArgs()).apply(init_weights), self.mesh, settings)\n",
            ),
        ),
        trainer(
            META,
            OFFLOADED,
            PINNED,
            IMPORT_INIT,
            (INIT[0], INIT[1].format("")),
            (
                "\n    def loss(",
                BUILD.format(
                    '        model.to_empty(device="cpu")\n        torch.manual_seed(settings.seed + dist.get_rank())\n        model.apply(init_weights)\n'
                ),
            ),
        ),
        trainer(
            META,
            OFFLOADED,
            PINNED,
            IMPORT_INIT,
            (INIT[0], INIT[1].format("")),
            (
                "\n    def loss(",
                BUILD.format(
                    '        model.to_empty(device="cpu")\n        model.apply(init_weights)\n'
                    "        state = get_model_state_dict(model)\n"
                    '        dcp.load(state, checkpoint_id="start")\n        set_model_state_dict(model, state)\n'
                ),
            ),
        ),
    ],
    "FSDP408": [
        trainer(
            EMA,
            AVERAGE,
            ("        self.step += 1\n", "        self.step += 1\n        self.average.update(self.model)\n"),
        ),
        # The model's own weights are back before the backward.
        trainer(
            EMA,
            AVERAGE,
            (
                LOSS,
                "            self.average.swap_in(self.model)\n            with torch.no_grad():\n                teacher = self.loss(batch)\n"
                "            self.average.swap_out(self.model)\n" + LOSS + "            loss = loss + 0.0 * teacher\n",
            ),
        ),
        trainer(EMA, AVERAGE, (LOSS, LOSS + "            self.average.update(self.model)\n")),
        functions(
            (
                "def is_main():\n",
                "@torch.no_grad()\ndef keep_small(model, limit=1.0):\n    for weight in model.parameters():\n"
                "        weight.clamp_(-limit, limit)\n\n\ndef is_main():\n",
            ),
            (ENGINE_STEP, ENGINE_STEP + "            utils.keep_small(model)\n"),
        ),
    ],
    "FSDP405": [
        trainer(
            ("    depth: int = 2\n", "    depth: int = 2\n    skip: int = 0\n"),
            (
                "        self.head = nn.Linear(args.dim, args.vocab)\n",
                "        self.head = nn.Linear(args.dim, args.vocab)\n        self.skip = args.skip\n",
            ),
            (
                FORWARD,
                "        for number, block in enumerate(self.blocks):\n            if number < self.skip and not self.training:\n                continue\n"
                "            x = block(x)\n        return self.head(x)\n",
            ),
        ),
        # The draw decides what is added, and every block runs.
        trainer(
            (
                FORWARD,
                "        for block in self.blocks:\n            keep = float(torch.rand(()).item() > 0.1)\n"
                "            x = x + keep * (block(x) - x)\n        return self.head(x)\n",
            ),
            (
                "        torch.manual_seed(settings.seed)\n",
                "        torch.manual_seed(settings.seed + dist.get_rank())\n",
            ),
        ),
        functions(
            (
                "        self.fc = nn.Linear(width, classes)\n",
                "        self.fc = nn.Linear(width, classes)\n        self.extra = Layer(width)\n",
            ),
            (
                LAYERS,
                LAYERS.replace(
                    "        return",
                    "        wanted = (x > 3.0).any().float()\n        x = x + wanted * self.extra(x)\n        return",
                ),
            ),
            ("    fully_shard(model)\n", "    fully_shard(model.extra)\n    fully_shard(model)\n"),
        ),
        # The same generator on all ranks.
        trainer(
            (
                "import torch.nn.functional as F\n\n\n@dataclass",
                "import torch.nn.functional as F\n\nCHOOSES = torch.Generator().manual_seed(3)\n\n\n@dataclass",
            ),
            (
                FORWARD,
                "        for block in self.blocks:\n            if self.training and torch.rand((), generator=CHOOSES).item() < 0.1:\n                continue\n"
                "            x = block(x)\n        return self.head(x)\n",
            ),
        ),
    ],
    "FSDP407": [
        trainer(
            (
                "        self.scheduler.step()\n        self.step",
                "        self.log(micro_batches[0])\n        self.scheduler.step()\n        self.step",
            ),
            (
                "\n    def train_step(",
                '\n    @torch.no_grad()\n    def log(self, batch):\n        print("after", self.loss(batch).item())\n\n    def train_step(',
            ),
        ),
        functions(
            (ENGINE_STEP, ENGINE_STEP + "            utils.prefetch(model)\n"),
            ("def is_main():\n", "def prefetch(model):\n    model.unshard(async_op=True)\n\n\ndef is_main():\n"),
        ),
        trainer(
            (
                "            self.model.set_requires_gradient_sync(number == len(micro_batches) - 1)\n",
                "            last = number == len(micro_batches) - 1\n            self.model.set_requires_gradient_sync(last)\n            self.model.set_reshard_after_backward(last)\n",
            ),
        ),
    ],
    "FSDP502": [
        trainer(
            (OPTIONS, POLICY.format("param_dtype=torch.bfloat16, reduce_dtype=getattr(torch, settings.dtype)")),
            ("    # more\n", '    dtype: str = "float32"\n'),
        ),
        functions(
            (
                SHARD,
                "    policy = utils.policy()\n    for layer in model.layers:\n        fully_shard(layer, mp_policy=policy)\n    fully_shard(model, mp_policy=policy)\n",
            ),
            (
                "def is_main():\n",
                "def policy():\n    return MixedPrecisionPolicy(torch.bfloat16, torch.float32)\n\n\ndef is_main():\n",
            ),
            (
                "import torch.distributed.checkpoint as dcp\n",
                "import torch.distributed.checkpoint as dcp\nfrom torch.distributed.fsdp import MixedPrecisionPolicy\n",
            ),
        ),
        trainer(
            (OPTIONS, POLICY.format("output_dtype=torch.float32")),
        ),
    ],
    "FSDP311": [
        trainer(
            (
                'init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))',
                'init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))["dp"]',
            ),
        ),
        trainer(
            (
                'init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))',
                'init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "cp"))[("dp", "cp")]._flatten("dp_cp")',
            ),
        ),
        trainer(
            (
                'init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))',
                'init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("ddp", "fsdp"))',
            ),
        ),
        trainer(
            (
                'init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))',
                'init_device_mesh("cpu", (2, dist.get_world_size() // 2, 1), mesh_dim_names=("dp_replicate", "dp_shard", "tp"))["dp_replicate", "dp_shard"]',
            ),
        ),
    ],
    "FSDP314": [
        trainer(
            (
                "    for block in model.blocks:\n",
                "    model.to(torch.bfloat16)\n    for part in model.modules():\n        if isinstance(part, torch.nn.LayerNorm):\n            part.float()\n            part.requires_grad_(False)\n    for block in model.blocks:\n",
            ),
        ),
        trainer(
            (
                "    for block in model.blocks:\n        fully_shard(block, **options)\n",
                "    for block in model.blocks:\n        block.to(torch.bfloat16)\n        block.norm.float()\n        fully_shard(block.norm, **options)\n        fully_shard(block, **options)\n",
            ),
        ),
        trainer(
            (
                "    for block in model.blocks:\n",
                "    model.head.to(torch.bfloat16).float()\n    for block in model.blocks:\n",
            )
        ),
    ],
    "FSDP317": [
        # Read while they are still the same, by name.
        trainer(
            (
                "        self.head = nn.Linear(args.dim, args.vocab)\n",
                "        self.head = nn.Linear(args.dim, args.vocab)\n        for weight in self.parameters():\n            weight.no_decay = weight.dim() < 2\n",
            ),
            (
                "        self.model = shard(Transformer(ModelArgs()), self.mesh, settings)\n        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.lr)\n",
                "        self.model = Transformer(ModelArgs())\n        self.flat = {name for name, p in self.model.named_parameters() if p.no_decay}\n        shard(self.model, self.mesh, settings)\n        self.optimizer = torch.optim.AdamW(self.groups(), lr=settings.lr)\n",
            ),
            (
                "\n    def loss(",
                "\n    def groups(self):\n        flat = [p for name, p in self.model.named_parameters() if name in self.flat]\n"
                "        rest = [p for name, p in self.model.named_parameters() if name not in self.flat]\n"
                '        return [{"params": flat, "weight_decay": 0.0}, {"params": rest}]\n\n    def loss(',
            ),
        ),
        functions(
            (SHARD, SHARD + "    utils.clamp_gradients(model)\n"),
            (
                "def is_main():\n",
                "def clamp_gradients(model):\n    for weight in model.parameters():\n        weight.register_hook(lambda grad: grad.clamp(-1, 1))\n\n\ndef is_main():\n",
            ),
        ),
        functions(
            (
                "    model = build_model(args)\n",
                "    model = build_model(args)\n    count = sum(weight.numel() for weight in model.parameters())\n    print(count)\n",
            ),
        ),
        # Copied from the old ones.
        trainer(
            (
                "    for block in model.blocks:\n",
                "    marks = {name: p.dim() < 2 for name, p in model.named_parameters()}\n    for block in model.blocks:\n",
            ),
            (
                "    fully_shard(model, **options)\n",
                "    fully_shard(model, **options)\n    for name, p in model.named_parameters():\n        p.no_decay = marks[name]\n",
            ),
            (
                "        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.lr)\n",
                "        self.optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.no_decay or True], lr=settings.lr)\n",
            ),
        ),
    ],
}
