"""Faults with gradients and steps, in other shapes than on the pages, and what is right beside them."""

from __future__ import annotations

from .projects import Edited, functions, trainer

CLIP = "        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)\n"
LAST = "self.model.set_requires_gradient_sync(number == len(micro_batches) - 1)"
BACKWARD = "            loss.backward()\n            total += loss.item()\n"
RATE = "        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: min(1.0, (step + 1) / 10))\n"
PLATEAU = "        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, patience=0)\n"
STEPPED = "        self.scheduler.step()\n        self.step += 1\n"
SHARDED = "    fully_shard(model, **options)\n    return model\n"
ENGINE_LOSS = "        loss = F.cross_entropy(model(images), labels) / args.accum\n        loss.backward()\n"
ENGINE_CLIP = "            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)\n"
AFTER_EVALUATION = "            self.evaluate()\n"
HSDP = (
    'init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))',
    'init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard"))',
)
NO_SYNC = """
    @contextlib.contextmanager
    def no_sync(self):
        self.model.set_requires_gradient_sync(False)
        {}

    def train_step("""

FAULTS: dict[str, list[Edited]] = {
    "FSDP604": [
        # A context manager that does not switch back.
        trainer(
            ("import os\nimport time\n", "import contextlib\nimport os\nimport time\n"),
            ("\n    def train_step(", NO_SYNC.format("yield").replace("(False)", "(False)  # fault")),
            (
                f"            {LAST}\n            loss = self.loss(batch) / len(micro_batches)\n" + BACKWARD,
                "            with self.no_sync():\n"
                "                loss = self.loss(batch) / len(micro_batches)\n"
                "                loss.backward()\n            total += loss.item()\n",
            ),
        ),
        # The reduction over replicas is left to a later micro-batch that never comes.
        trainer(HSDP, (LAST, "self.model.set_requires_all_reduce(False)  # fault")),
        functions(
            ("        model.set_requires_gradient_sync(update)\n", ""),
            ("    model.train()\n", "    model.train()\n    model.set_requires_gradient_sync(False)  # fault\n"),
        ),
    ],
    "FSDP614": [
        # Clipped while gathered, and resharded for the step.
        trainer(
            (RATE, RATE + "        self.model.set_reshard_after_backward(False)\n"),
            (CLIP, CLIP.replace("\n", "  # fault\n") + "        self._reshard()\n"),
            (
                "\n    def train_step(",
                "\n    def _reshard(self):\n        for part in self.model.modules():\n"
                "            if isinstance(part, FSDPModule):\n                part.reshard()\n\n    def train_step(",
            ),
            (
                "from data import build_loader\n",
                "from torch.distributed.fsdp import FSDPModule\n\nfrom data import build_loader\n",
            ),
        ),
        # Clipped in front of the backward that reduces.
        functions(
            (ENGINE_CLIP, ""),
            (
                "        model.set_requires_gradient_sync(update)\n" + ENGINE_LOSS,
                "        model.set_requires_gradient_sync(False)\n"
                "        F.cross_entropy(model(images), labels).backward()\n"
                "        utils.clip(model, args)\n"
                "        model.set_requires_gradient_sync(True)\n" + ENGINE_LOSS,
            ),
            (
                "def is_main():\n",
                "def clip(model, args):\n"
                "    torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)  # fault\n\n\ndef is_main():\n",
            ),
        ),
    ],
    "FSDP615": [
        trainer(
            (
                BACKWARD,
                BACKWARD
                + "            if not self.is_fine(loss):\n                self.optimizer.zero_grad()  # fault\n"
                + "                return None\n",
            ),
            (
                "\n    def train_step(",
                "\n    def is_fine(self, loss):\n        return bool(torch.isfinite(loss))\n\n    def train_step(",
            ),
        ),
        functions(
            (
                ENGINE_LOSS,
                ENGINE_LOSS
                + "        if loss.item() > args.spike:\n            model.zero_grad(set_to_none=True)  # fault\n"
                + "            continue\n",
            ),
            (
                '    parser.add_argument("--accum"',
                '    parser.add_argument("--spike", type=float, default=10.0)\n    parser.add_argument("--accum"',
            ),
        ),
    ],
    "FSDP616": [
        trainer(
            ("    # more\n", "    factor: float = 1.0\n"),
            (
                "    fully_shard(model, **options)\n",
                "    fully_shard(model, **options)\n    model.set_gradient_divide_factor(1.0)  # fault\n",
            ),
        ),
        functions(
            (
                "def is_main():\n",
                "def sum_gradients(model):\n    model.set_gradient_divide_factor(1)  # fault\n\n\ndef is_main():\n",
            ),
            ("    optimizer = torch", "    utils.sum_gradients(model)\n    optimizer = torch"),
        ),
    ],
    "FSDP617": [
        trainer(
            (RATE, PLATEAU),
            (STEPPED, "        self.step += 1\n"),
            (AFTER_EVALUATION, "            self.scheduler.step(self.evaluate())  # fault\n"),
        ),
        # A brake for spikes of the loss.
        functions(
            (
                ENGINE_LOSS,
                ENGINE_LOSS
                + "        if loss.item() > 5.0:\n            for group in optimizer.param_groups:\n"
                + '                group["lr"] *= 0.5  # fault\n',
            )
        ),
        functions(
            (
                "        evaluate(model, loader)\n",
                "        value = evaluate(model, loader).item()\n        for group in optimizer.param_groups:\n"
                '            group["lr"] = args.lr * min(1.0, value)  # fault\n',
            )
        ),
    ],
    "FSDP618": [
        trainer(
            (
                "from torch.distributed.device_mesh import init_device_mesh\n",
                "from torch.distributed.device_mesh import init_device_mesh\nfrom torch.distributed.pipelining import PipelineStage, Schedule1F1B\n",
            ),
            (
                '(dist.get_world_size(),), mesh_dim_names=("dp",)',
                '(2, dist.get_world_size() // 2), mesh_dim_names=("pp", "dp")',
            ),
            ('options = {"mesh": mesh}', 'options = {"mesh": mesh["dp"]}'),
            (
                SHARDED,
                SHARDED + "\n\ndef build_schedule(model, mesh, loss):\n"
                '    stage = PipelineStage(model, mesh.get_local_rank("pp"), 2, torch.device("cpu"), group=mesh.get_group("pp"))\n'
                "    return Schedule1F1B(stage, n_microbatches=2, loss_fn=loss)\n",
            ),
            ("from parallel import build_mesh, shard\n", "from parallel import build_mesh, build_schedule, shard\n"),
            (RATE, RATE + "        self.schedule = build_schedule(self.model, self.mesh, F.mse_loss)\n"),
            (
                "        for number, batch in enumerate(micro_batches):\n"
                f"            {LAST}\n            loss = self.loss(batch) / len(micro_batches)\n" + BACKWARD,
                "        self.schedule.step(micro_batches[0][0], target=micro_batches[0][1])\n",
            ),
            (CLIP, CLIP.replace("\n", "  # fault\n")),
        ),
        functions(
            (
                "from torch.distributed.device_mesh import init_device_mesh\n",
                "from torch.distributed.device_mesh import init_device_mesh\nfrom torch.distributed.pipelining import PipelineStage, ScheduleGPipe\n",
            ),
            (
                "    for layer in model.layers:\n        fully_shard(layer)\n    fully_shard(model)\n",
                '    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("pp", "dp"))\n'
                '    for layer in model.layers:\n        fully_shard(layer, mesh=mesh["dp"])\n'
                '    fully_shard(model, mesh=mesh["dp"])\n'
                '    stage = PipelineStage(model, mesh["pp"].get_local_rank(), mesh["pp"].size(), torch.device("cpu"), group=mesh["pp"].get_group())\n'
                "    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=torch.nn.functional.cross_entropy)\n",
            ),
            (
                "train_one_epoch(model, loader, optimizer, epoch, args)\n        evaluate(model, loader)",
                "train_one_epoch(model, schedule, loader, optimizer, args)",
            ),
            (
                "def train_one_epoch(model, loader, optimizer, epoch, args):\n",
                "def train_one_epoch(model, schedule, loader, optimizer, args):\n",
            ),
            (
                "        update = (i + 1) % args.accum == 0\n        model.set_requires_gradient_sync(update)\n"
                + ENGINE_LOSS
                + "        if update:\n"
                + ENGINE_CLIP
                + "            optimizer.step()\n            optimizer.zero_grad()\n",
                "        schedule.step(images, target=labels)\n"
                "        utils.clip([model], args.clip)\n        optimizer.step()\n        optimizer.zero_grad()\n",
            ),
            (
                "def is_main():\n",
                "def clip(parts, limit):\n    weights = [p for part in parts for p in part.parameters()]\n"
                "    return torch.nn.utils.clip_grad_norm_(weights, limit)  # fault\n\n\ndef is_main():\n",
            ),
        ),
    ],
    "FSDP619": [
        trainer(
            (
                BACKWARD,
                "            loss = loss + 0.1 * self.penalty(loss)\n" + BACKWARD,
            ),
            (
                "\n    def train_step(",
                "\n    def penalty(self, loss):\n        weights = [p for p in self.model.parameters() if p.requires_grad]\n"
                "        slopes = torch.autograd.grad(loss, weights, create_graph=True, allow_unused=True)  # fault\n"
                "        return sum(each.square().sum() for each in slopes if each is not None)\n\n    def train_step(",
            ),
        ),
        # Weights of several losses, by the slopes of a layer that they share.
        functions(
            (
                "def is_main():\n",
                "def weights_of(losses, shared):\n    norms = [\n"
                "        torch.autograd.grad(loss, shared.weight, retain_graph=True)[0].norm()  # fault\n"
                "        for loss in losses\n    ]\n"
                "    return [norm / sum(norms) for norm in norms]\n\n\ndef is_main():\n",
            ),
            (
                ENGINE_LOSS,
                "        logits = model(images)\n        losses = [F.cross_entropy(logits, labels), logits.square().mean()]\n"
                "        shares = utils.weights_of(losses, model.fc)\n"
                "        loss = sum(share * each for share, each in zip(shares, losses)) / args.accum\n        loss.backward()\n",
            ),
        ),
    ],
}

CORRECT: dict[str, list[Edited]] = {
    "FSDP604": [
        trainer(
            ("import os\nimport time\n", "import contextlib\nimport os\nimport time\n"),
            (
                "\n    def train_step(",
                NO_SYNC.format(
                    "try:\n            yield\n        finally:\n            self.model.set_requires_gradient_sync(True)"
                ),
            ),
            (
                f"            {LAST}\n            loss = self.loss(batch) / len(micro_batches)\n" + BACKWARD,
                "            last = number == len(micro_batches) - 1\n"
                "            with contextlib.nullcontext() if last else self.no_sync():\n"
                "                loss = self.loss(batch) / len(micro_batches)\n"
                "                loss.backward()\n            total += loss.item()\n",
            ),
        ),
        trainer(HSDP, (LAST, LAST.replace("gradient_sync", "all_reduce"))),
        trainer((LAST, "self.model.set_is_last_backward(number == len(micro_batches) - 1)")),
        functions(
            (
                "        update = (i + 1) % args.accum == 0\n",
                "        update = (i + 1) % args.accum == 0 or i + 1 == len(loader)\n",
            ),
        ),
    ],
    "FSDP614": [
        trainer(
            (
                BACKWARD,
                "            loss.backward()\n            total += loss.item()\n"
                + CLIP.replace("        torch", "            torch"),
            ),
            (CLIP + "        self.optimizer", "        self.optimizer"),
        ),
        trainer((CLIP, "        if self.settings.clip > 0:\n    " + CLIP)),
        functions(
            (
                ENGINE_CLIP,
                "            norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])\n            torch.nn.utils.clip_grads_with_norm_(model.parameters(), args.clip, norm)\n",
            )
        ),
        functions((ENGINE_CLIP, ENGINE_CLIP + "            model.unshard()\n            model.reshard()\n")),
    ],
    "FSDP615": [
        trainer(
            (
                BACKWARD,
                "            if not torch.isfinite(loss):\n                loss = loss.nan_to_num() * 0\n" + BACKWARD,
            )
        ),
        functions(
            (
                ENGINE_CLIP,
                ENGINE_CLIP.replace("            torch", "            norm = torch")
                + "            if not torch.isfinite(norm):\n                optimizer.zero_grad()\n                continue\n",
            ),
        ),
        trainer(
            (
                "        for number, batch in enumerate(micro_batches):\n",
                "        self.optimizer.zero_grad()\n        for number, batch in enumerate(micro_batches):\n",
            ),
        ),
    ],
    "FSDP616": [
        trainer(
            (
                "    fully_shard(model, **options)\n",
                "    fully_shard(model, **options)\n    for part in model.modules():\n        if isinstance(part, FSDPModule):\n"
                "            part.set_gradient_divide_factor(1.0)\n",
            ),
        ),
        trainer(
            (
                "        fully_shard(block, **options)\n    fully_shard(model, **options)\n",
                "        fully_shard(block, **options).set_gradient_divide_factor(1.0)\n"
                "    fully_shard(model, **options)\n    model.set_gradient_divide_factor(1.0)\n",
            ),
        ),
        functions(
            (
                "def is_main():\n",
                "def sum_gradients(model):\n    for part in [model, *model.layers]:\n        part.set_gradient_divide_factor(1.0)\n\n\ndef is_main():\n",
            ),
            ("    optimizer = torch", "    utils.sum_gradients(model)\n    optimizer = torch"),
        ),
    ],
    "FSDP617": [
        trainer(
            (RATE, PLATEAU),
            (STEPPED, "        self.step += 1\n"),
            (
                AFTER_EVALUATION,
                "            value = self.evaluate()\n            dist.all_reduce(value, op=dist.ReduceOp.AVG)\n            self.scheduler.step(value)\n",
            ),
        ),
        functions(
            (
                ENGINE_LOSS,
                ENGINE_LOSS
                + "        if utils.average(loss).item() > 5.0:\n            for group in optimizer.param_groups:\n"
                + '                group["lr"] *= 0.5\n',
            )
        ),
        functions(
            (
                ENGINE_LOSS,
                '        for group in optimizer.param_groups:\n            group["lr"] = args.lr * 0.5 ** (epoch + i / len(loader))\n'
                + ENGINE_LOSS,
            )
        ),
        trainer(
            (
                "import torch\nimport torch.distributed as dist\nimport torch.distributed.checkpoint",
                "import torch\nimport torch.distributed as dist\nimport torch.distributed.checkpoint",
            ),
            (RATE, PLATEAU),
            (STEPPED, "        self.step += 1\n"),
            (
                AFTER_EVALUATION,
                "            values = [None] * dist.get_world_size()\n            dist.all_gather_object(values, self.evaluate().item())\n"
                "            self.scheduler.step(sum(values) / len(values))\n",
            ),
        ),
    ],
    "FSDP619": [
        # A penalty on the slopes of the input.
        functions(
            (
                ENGINE_LOSS,
                "        images.requires_grad_(True)\n        out = model(images)\n"
                "        slopes = torch.autograd.grad(out.sum(), images, create_graph=True)[0]\n"
                "        loss = F.cross_entropy(out, labels) + 10 * (slopes.norm(dim=-1) - 1).square().mean()\n        loss.backward()\n",
            )
        ),
        trainer(
            (
                "        logits = self.model(inputs)\n",
                "        logits = self.model(inputs)\n        self.slopes = torch.autograd.grad(logits.square().mean(), logits, retain_graph=True)[0]\n",
            ),
        ),
        functions(
            (
                ENGINE_LOSS,
                "        probe = torch.nn.Linear(16, 10)\n        torch.autograd.grad(F.cross_entropy(probe(images), labels), list(probe.parameters()))\n"
                + ENGINE_LOSS,
            )
        ),
    ],
}
CORRECT["FSDP618"] = [
    # Without a pipeline.
    trainer(
        (
            CLIP,
            "        torch.nn.utils.clip_grad_norm_(list(self.model.parameters()), self.settings.clip, foreach=True)\n",
        )
    ),
    Edited(
        FAULTS["FSDP618"][0].project,
        (
            *FAULTS["FSDP618"][0].edits[:-1],
            (
                CLIP,
                "        norm = torch.nn.utils.get_total_norm([p.grad for p in self.model.parameters()]).full_tensor() ** 2\n"
                '        dist.all_reduce(norm, group=self.mesh["pp"].get_group())\n'
                "        torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.settings.clip, norm**0.5)\n",
            ),
        ),
    ),
    Edited(
        FAULTS["FSDP618"][0].project,
        (
            *FAULTS["FSDP618"][0].edits[:-1],
            (CLIP, "        torch.nn.utils.clip_grad_value_(self.model.parameters(), self.settings.clip)\n"),
        ),
    ),
]
