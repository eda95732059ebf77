"""What the first contact with unseen code taught, by its roots: each in several shapes, beside twins that differ."""

from __future__ import annotations

import textwrap

import pytest

from .program import HEAD, NET, analyse, script

IMPORTS = """
import math
import sys
from dataclasses import dataclass
from functools import partial
import yaml
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModel, AutoModelForCausalLM, BitsAndBytesConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer
try:
    from torch.distributed.tensor import DTensor
    HAS_DTENSOR = True
except ImportError:
    HAS_DTENSOR = False
"""
START = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
"""
SHARDED = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""


def main(body: str, before: str = "") -> str:
    return script(textwrap.dedent(START) + textwrap.dedent(body), IMPORTS + textwrap.dedent(before))


# -- a handler knows why it runs ----------------------------------------------------


def gathered(caught: str, how: str = "value = tensor.full_tensor()", kept: str = "value = tensor") -> str:
    return main(f"""{SHARDED}
whole = {{}}
for name, tensor in model.state_dict().items():
    try:
        {how}
    {caught}
        {kept}
    whole[name] = value.cpu()
torch.save(whole, "model.pt")
""")


def test_what_has_no_full_tensor_is_no_shard() -> None:
    assert analyse(gathered("except AttributeError:")).codes == []
    assert analyse(gathered("except AttributeError as error:", kept="value = tensor.detach()")).codes == []


def test_a_handler_of_what_a_helper_tried() -> None:
    helper = """
    def whole_of(tensor):
        return tensor.full_tensor().cpu()
    """
    body = f"""{SHARDED}
held = model.state_dict()
try:
    held = {{name: whole_of(tensor) for name, tensor in held.items()}}
except AttributeError:
    pass
torch.save(held, "model.pt")
"""
    assert analyse(main(body, helper)).codes == []


@pytest.mark.parametrize("caught", ["except:", "except Exception:", "except (AttributeError, RuntimeError):"])
def test_a_handler_of_anything_leaves_open_whether_it_holds_a_shard(caught: str) -> None:
    assert analyse(gathered(caught)).codes == []


def test_a_gathering_that_failed_leaves_a_shard() -> None:
    assert analyse(gathered("except RuntimeError:")).codes == ["FSDP701"]
    assert analyse(gathered("except AttributeError:", how="value = tensor.clone()")).codes == ["FSDP701"]


def test_a_value_that_is_read_where_no_dtensor_came() -> None:
    body = f"""{SHARDED}
for tensor in model.parameters():
    try:
        tensor = tensor.full_tensor()
    except AttributeError:
        pass
    if tensor.isnan().any():
        print("broken")
"""
    assert analyse(main(body)).codes == []
    assert analyse(main(body.replace("AttributeError", "RuntimeError"))).codes == ["FSDP603"]


# -- a predicate says what it asks, also where it is denied ----------------------------

PREDICATE = """
class Watch:
    def __init__(self, model):
        self.model = model

    def is_split(self, tensor):
        return HAS_DTENSOR and isinstance(tensor, DTensor)

    def whole(self, tensor):
        return tensor.full_tensor() if self.is_split(tensor) else tensor

    def broken(self):
        return [tensor for tensor in self.model.parameters() if bool(self.whole(tensor.data).isnan().any())]

    def stop(self):
        for tensor in self.model.parameters():
            if math.isnan(self.whole(tensor).sum()):
                raise ValueError
"""


@pytest.mark.parametrize("use", ["Watch(model).broken()", "Watch(model).stop()"])
def test_a_predicate_behind_a_flag(use: str) -> None:
    assert analyse(main(SHARDED + use, PREDICATE)).codes == []
    wrong = PREDICATE.replace("if self.is_split(tensor) else tensor", "if self.model.training else tensor")
    assert analyse(main(SHARDED + "Watch(model).stop()", wrong)).codes == ["FSDP603"]


SPLIT = """
def is_split(model):
    if isinstance(model, FSDPModule):
        return True
    return False

def save(models, path):
    if not isinstance(models, list):
        models = [models]
    for number, model in enumerate(models):
        if not is_split(model):
            torch.save(model.state_dict(), f"{path}/{number}.pt")
"""
DDP_OR_SHARDS = """
model = Net().cuda()
if dist.get_world_size() > 1:
    if "--ddp" in sys.argv:
        model = DistributedDataParallel(model)
    else:
        for layer in model.layers:
            fully_shard(layer)
        model = fully_shard(model)
"""


def test_arms_that_only_isinstance_tells_apart() -> None:
    assert "FSDP701" not in analyse(main(DDP_OR_SHARDS + 'save(model, "out")', SPLIT)).codes
    swapped = SPLIT.replace("if not is_split(model)", "if is_split(model)")
    assert "FSDP701" in analyse(main(DDP_OR_SHARDS + 'save(model, "out")', swapped)).codes


def test_a_predicate_that_returns_early() -> None:
    asked = """
    def plain(model):
        if model is None:
            return False
        if isinstance(model, FSDPModule):
            return False
        return True
    """
    use = """
if plain(model):
    torch.save(model.state_dict(), "model.pt")
"""
    assert "FSDP701" not in analyse(main(DDP_OR_SHARDS + use, asked)).codes
    assert "FSDP701" in analyse(main(DDP_OR_SHARDS + use.replace("if plain", "if not plain"), asked)).codes


# -- one choice in one state -----------------------------------------------------------

MESHES = """
class Dims:
    def __init__(self, copies):
        self.copies = copies
        self.both = init_device_mesh("cuda", (2, 4), mesh_dim_names=("rep", "shard"))

    @property
    def copied(self):
        return self.copies > 1

def mesh_of(dims):
    if dims.copied:
        return dims.both
    return dims.both["shard"]
"""


def test_two_calls_of_a_helper_choose_the_same_mesh() -> None:
    body = """
dims = Dims(int(sys.argv[1]))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh_of(dims))
fully_shard(model, mesh=mesh_of(dims))
"""
    assert "FSDP308" not in analyse(main(body, MESHES)).codes
    mixed = body.replace("fully_shard(model, mesh=mesh_of(dims))", 'fully_shard(model, mesh=dims.both["rep"])')
    assert "FSDP308" in analyse(main(mixed, MESHES)).codes


def test_a_helper_that_chooses_by_a_conditional_expression() -> None:
    short = MESHES.replace(
        '    if dims.copied:\n        return dims.both\n    return dims.both["shard"]',
        '    return dims.both if dims.copied else dims.both["shard"]',
    )
    body = """
dims = Dims(int(sys.argv[1]))
blocks, root = mesh_of(dims), mesh_of(dims)
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=blocks)
fully_shard(model, mesh=root)
"""
    assert "FSDP308" not in analyse(main(body, short)).codes


# -- how large, in how many processes, how much at once ----------------------------------

LAYERS = """
class Local(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)

class Square(nn.Linear):
    def __init__(self, width):
        super().__init__(width, width)

class Tiny(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        self.last = nn.Linear(8, 2)
"""


@pytest.mark.parametrize("first", ["Local(8, 8)", "Square(8)", "Square(width=8)"])
def test_the_size_of_a_class_derived_from_a_layer(first: str) -> None:
    body = f"""
model = Tiny({first}).to("cuda")
fully_shard(model)
"""
    assert "FSDP206" not in analyse(main(body, LAYERS)).codes
    for large in ("Square(40000)", "Square(int(sys.argv[1]))", "Local(40000, 40000)"):
        assert "FSDP206" in analyse(main(body.replace(first, large), LAYERS)).codes


def test_a_group_of_one_process_splits_nothing() -> None:
    def program(world: str) -> str:
        return script(
            """
            torch.cuda.set_device(0)
            begin(0, WORLD)
            model = nn.Sequential(*[nn.Linear(n, n) for n in map(int, sys.argv)]).to("cuda:0")
            for layer in model:
                fully_shard(layer)
            fully_shard(model)
            """.replace("WORLD", world),
            IMPORTS + 'def begin(rank, size):\n    dist.init_process_group("nccl", rank=rank, world_size=size)\n',
        )

    assert "FSDP206" not in analyse(program("1")).codes
    assert "FSDP206" in analyse(program("8")).codes
    assert "FSDP206" in analyse(program("int(sys.argv[1])")).codes


def test_one_block_at_a_time() -> None:
    body = """
model = AutoModel.from_config(yaml.safe_load(open("config.yaml")))
for stack in [part for part in model.modules() if isinstance(part, nn.ModuleList)]:
    for block in stack:
        block.to("cuda")
        fully_shard(block)
fully_shard(model)
"""
    assert "FSDP206" not in analyse(main(body)).codes
    whole = body.replace('        block.to("cuda")\n', "").replace(
        '"))\n', '"))\nmodel.to("cuda")\n'.replace('"))', '"))'), 1
    )
    assert "FSDP206" in analyse(main(whole.replace('yaml")))', 'yaml"))).to("cuda")'))).codes


# -- what a class inherits -----------------------------------------------------------------

INHERITED = """
with torch.device("meta"):
    model = nn.Sequential({kind}, {kind})
for layer in model:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
for layer in model:
    layer.reset_parameters()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(2, 8, device="cuda")).sum().backward()
optimizer.step()
"""
KINDS = (
    LAYERS
    + """
class Normed(nn.LayerNorm):
    pass

class Quiet(nn.Dropout):
    pass

class Own(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))
"""
)


@pytest.mark.parametrize("kind", ["Square(8)", "Local(8, 8)", "Normed(8)"])
def test_a_layer_hands_on_its_reset_parameters(kind: str) -> None:
    assert "FSDP207" not in analyse(main(INHERITED.format(kind=kind), KINDS)).codes


def test_a_module_has_none_to_hand_on() -> None:
    assert "FSDP207" in analyse(main(INHERITED.format(kind="Own(8)"), KINDS)).codes


# -- names and settings that are not known ---------------------------------------------------


@pytest.mark.parametrize("chosen", ['name in config["shard"]', 'name == config["part"]', 'name not in config["kept"]'])
def test_modules_that_names_in_a_file_choose(chosen: str) -> None:
    body = f"""
config = yaml.safe_load(open("plan.yaml"))
model = AutoModel.from_pretrained(config["path"])
for part in [module for name, module in model.named_modules() if {chosen}]:
    fully_shard(part)
fully_shard(model)
"""
    assert "FSDP302" not in analyse(main(body)).codes
    everything = body.replace(f" if {chosen}", "")
    assert "FSDP302" in analyse(main(everything)).codes


PLAN = """
@dataclass
class Plan:
    reshard: bool = {default}

def read():
    plan = Plan()
    for name, value in (yaml.safe_load(open("plan.yaml")) or {{}}).items():
        setattr(plan, name, value)
    return plan
"""
BY_PLAN = """
plan = read()
model = Net()
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=plan.reshard)
fully_shard(model, **{"reshard_after_forward": plan.reshard})
"""


@pytest.mark.parametrize("default", ["True", "False"])
def test_a_file_overrides_a_default(default: str) -> None:
    assert analyse(main(BY_PLAN, PLAN.format(default=default))).verdicts("FSDP312") == {"unknown"}


def test_a_default_that_nothing_overrides() -> None:
    kept = BY_PLAN.replace("read()", "Plan()")
    assert analyse(main(kept, PLAN.format(default="False"))).codes == ["FSDP312"]
    assert analyse(main(kept, PLAN.format(default="True"))).verdicts("FSDP312") == {"upheld"}


# -- upheld only where it was seen ---------------------------------------------------------

OF_LIBRARIES = """
class Both(nn.Module):
    def __init__(self, towers, trunk):
        super().__init__()
        for name, tower in towers.items():
            self.add_module(name, tower)
        self.trunk = trunk

    def forward(self, x):
        return self.trunk(x)
"""
HOLLOW = """
with torch.device("meta"):
    trunk = AutoModelForCausalLM.from_config(yaml.safe_load(open("config.yaml")))
    model = Both({}, trunk)
for layer in model.trunk.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
FILL
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8, device="cuda")).sum().backward()
optimizer.step()
"""


def test_parts_of_a_library_have_parameters() -> None:
    assert "FSDP201" in analyse(main(HOLLOW.replace("FILL", ""), OF_LIBRARIES)).codes
    towers = HOLLOW.replace("Both({}, trunk)", 'Both({"vision": AutoModel.from_config({})}, trunk)').replace("FILL", "")
    assert "FSDP201" in analyse(main(towers, OF_LIBRARIES)).codes
    filled = HOLLOW.replace("FILL", "model.load_state_dict(torch.load('weights.pt'))")
    assert "FSDP201" not in analyse(main(filled, OF_LIBRARIES)).codes


def test_a_derived_layer_has_parameters() -> None:
    body = HOLLOW.replace(
        'trunk = AutoModelForCausalLM.from_config(yaml.safe_load(open("config.yaml")))', "trunk = Local(8, 8)"
    )
    body = body.replace("for layer in model.trunk.layers:\n    fully_shard(layer)\n", "").replace("FILL", "")
    assert "FSDP201" in analyse(main(body, OF_LIBRARIES + LAYERS)).codes


def test_quantized_weights_carry_what_is_not_seen() -> None:
    body = """
model = AutoModelForCausalLM.from_pretrained("a/model", quantization_config=CONFIG)
for tensor in model.parameters():
    tensor.requires_grad_(False)
    tensor.scale = 1.0
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
"""
    for given in ("BitsAndBytesConfig(load_in_4bit=True)", "BitsAndBytesConfig() if sys.argv[1:] else None"):
        assert analyse(main(body.replace("CONFIG", given))).verdicts("FSDP317") == {"unknown"}
    assert analyse(main(body.replace("CONFIG", "None"))).verdicts("FSDP317") == {"upheld"}


def test_no_optimizer_is_none_that_was_judged() -> None:
    wrapper = """
    class Wrapper(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module
            self.kept = {name: vars(tensor) for name, tensor in module.named_parameters()}
            for part in module.layers:
                fully_shard(part)
            fully_shard(module)
    """
    assert analyse(main("Wrapper(Net())", wrapper)).verdicts("FSDP601") <= {"unknown"}


# -- the same filter twice -----------------------------------------------------------------

FILTERED = """
model = LlamaForCausalLM.from_pretrained("a/model")
for module in model.modules():
    if isinstance(module, LlamaDecoderLayer):
        fully_shard(module)
fully_shard(model)
apply_activation_checkpointing(model, check_fn=CHECK)
"""


@pytest.mark.parametrize("check", ["lambda part: isinstance(part, LlamaDecoderLayer)", "is_block"])
def test_checkpointing_by_the_filter_of_the_sharding(check: str) -> None:
    named = "def is_block(part):\n    return isinstance(part, LlamaDecoderLayer)\n"
    assert analyse(main(FILTERED.replace("CHECK", check), named)).codes == ["FSDP309"]


def test_checkpointing_by_another_filter() -> None:
    other = FILTERED.replace("CHECK", "lambda part: isinstance(part, nn.Linear)")
    assert analyse(main(other)).codes == []


# -- one setting, asked as an attribute and by get()


@pytest.mark.parametrize("asked", ["cfg.strategy.get('name') == '3d'", "cfg.get('strategy').name == '3d'"])
def test_a_setting_asked_in_two_ways_is_one(asked: str) -> None:
    """The helper shards for one strategy only, and its caller comes to it for another one."""
    helper = f"def prepare(model, cfg):\n    if {asked}:\n        fully_shard(model)\n    return model\n"
    main = (
        "def main(cfg):\n    model = Net()\n    if cfg.strategy.name == 'fsdp':\n        model = prepare(model, cfg)\n"
    )
    main += "        model.forward(torch.ones(2, 8, dtype=torch.long))\n"
    assert analyse(HEAD + NET + helper + main).codes == []
    found = analyse(HEAD + NET + helper + main.replace("'fsdp'", "'3d'")).codes
    assert "FSDP401" in found, "where the strategies agree, it is the fault that it was"


# -- what a constructor refuses holds in the methods that run later --------------------


def staged(sharded_if: str, gathered_if: str, refuses: str = "") -> str:
    """A trainer whose policy decides whether it shards, and whether it gathers before it writes."""
    policy = f"""
    @dataclass(frozen=True)
    class Policy:
        stage: int = 0

        @property
        def enabled(self):
            return self.stage > 0

        @property
        def shards(self):
            return {sharded_if}

        @property
        def gathers(self):
            return {gathered_if}


    class Trainer:
        def __init__(self, config, model):
            self.policy = Policy(stage=int(config.get("stage", 0)))
            self.tail = bool(config.get("tail", False))
            self.refuse()
            self.model = model
            self.shard()

        def refuse(self):
            if not self.policy.enabled:
                return
            if self.tail:
                raise ValueError("no tail with shards")
            {refuses or "if not self.policy.shards: return"}
            if not torch.cuda.is_available():
                raise ValueError("no device")

        def shard(self):
            if not self.policy.shards:
                return
            for layer in self.model.layers:
                fully_shard(layer)
            fully_shard(self.model)

        def save(self):
            if self.policy.gathers:
                options = StateDictOptions(full_state_dict=True, cpu_offload=True)
                state = get_model_state_dict(self.model, options=options)
            else:
                state = self.model.state_dict()
            if dist.get_rank() != 0:
                return
            torch.save(state, "model.pt")

        def tail_save(self):
            if self.tail and dist.get_rank() == 0:
                torch.save(self.model.state_dict(), "tail.pt")
    """
    return main(
        """
        with open("config.yaml") as file:
            config = yaml.safe_load(file)
        trainer = Trainer(config, Net())
        trainer.save()
        trainer.tail_save()
        """,
        policy,
    )


@pytest.mark.parametrize("shards, gathers", [
    ("self.stage >= 2", "self.stage >= 2"),
    ("self.stage >= 2", "self.stage > 0"),
    ("self.stage >= 2", "self.enabled"),
    ("self.stage == 3", "2 <= self.stage"),
    ("self.stage in (2, 3)", "self.stage >= 2"),
    ("self.stage > 1", "self.stage != 0"),
    ("self.stage > 1", "self.stage"),
])  # fmt: skip
def test_a_threshold_that_says_another(shards: str, gathers: str) -> None:
    assert analyse(staged(shards, gathers)).codes == []


@pytest.mark.parametrize(
    "shards, gathers", [("self.stage >= 2", "self.stage >= 3"), ("self.stage > 0", "self.stage > 1")]
)
def test_a_threshold_that_does_not_say_the_other(shards: str, gathers: str) -> None:
    assert "FSDP701" in analyse(staged(shards, gathers)).codes


def test_what_is_refused_otherwise_can_still_meet() -> None:
    """Nothing is refused where the early return is the one that shards."""
    text = staged("self.stage >= 2", "self.stage >= 2").replace("if not self.policy.enabled:", "if self.policy.shards:")
    assert "FSDP701" in analyse(text).codes


def test_a_method_that_its_class_calls_is_run_by_it() -> None:
    """Nobody builds the trainer: what its methods refuse to call is not called for its own sake."""
    nobody, rest = staged("self.stage >= 2", "self.stage >= 2").split("    trainer = Trainer")[0], "    pass\n"
    head = "    def tail_save(self):\n        if "
    run = f"    def run(self):\n        if self.tail:\n            self.tail_save()\n\n{head}"
    text = nobody.replace(f"{head}self.tail and ", run) + rest
    assert analyse(text).codes == []
    assert "FSDP701" in analyse(text.replace("if self.tail:\n            raise", "if 0:\n            raise")).codes


# -- a handler for a torch that is older than FSDP2 ---------------------------------------


def gathers_or(caught: str, again: str = "get_model_state_dict(model)") -> str:
    return main(f"""{SHARDED}
options = StateDictOptions(full_state_dict=True, cpu_offload=True)
try:
    state = dict(get_model_state_dict(model, options=options))
except {caught}:
    state = dict({again})
if dist.get_rank() == 0:
    whole = {{name: each.full_tensor() if hasattr(each, "full_tensor") else each for name, each in state.items()}}
    torch.save(whole, "model.pt")
""")


def test_a_keyword_that_each_torch_with_fsdp2_has() -> None:
    assert analyse(gathers_or("TypeError")).codes == []


@pytest.mark.parametrize(
    "caught, again", [("RuntimeError", "get_model_state_dict(model)"), ("TypeError", "model.state_dict()")]
)
def test_a_handler_of_what_can_fail_in_any_torch(caught: str, again: str) -> None:
    assert "FSDP801" in analyse(gathers_or(caught, again)).codes


@pytest.mark.parametrize("one, other", [
    ("bool(config.get('sharded'))", "bool(config.get('plain'))"),
    ("str(config['kind']) == 'sharded'", "str(config['how']) == 'plain'"),
    ("str(config['kind']).lower() == 'sharded'", "str(config['how']).lower() == 'plain'"),
    ("f\"{config['kind']}\" == 'sharded'", "f\"{config['how']}\" == 'plain'"),
])  # fmt: skip
def test_two_settings_are_not_one(one: str, other: str) -> None:
    """What is converted keeps apart what it was: neither condition says anything of the other."""
    read = "with open('config.yaml') as file:\n    config = yaml.safe_load(file)\n"
    body = (
        read
        + f"""
model = Net()
if {one}:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
if {other}:
    torch.save(model.state_dict(), "model.pt")
"""
    )
    assert analyse(main(body)).codes == ["FSDP701"]
    assert analyse(main(body.replace(other, f"not ({one})"))).codes == []


STYLES = """
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, SequenceParallel, parallelize_module
from torch.distributed.tensor import Replicate, Shard
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh["dp"])
fully_shard(model, mesh=mesh["dp"])
prepared = PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0))
"""


@pytest.mark.parametrize("plan, codes", [
    ("ColwiseParallel()", ["FSDP309"]),
    ("{'layers.0': prepared, 'head': ColwiseParallel()}", ["FSDP309"]),
    ("prepared", []),
    ("{'layers.0': prepared, 'head': prepared}", []),
    ("{'head': SequenceParallel()}", []),  # of parameters that a norm may not have
    ("plan_of(model)", []),
])  # fmt: skip
def test_a_plan_that_leaves_the_parameters_alone(plan: str, codes: list[str]) -> None:
    assert (
        analyse(main(f"from plans import plan_of\n{STYLES}parallelize_module(model, mesh['tp'], {plan})\n")).codes
        == codes
    )


def test_one_order_that_is_wrong_is_one_finding() -> None:
    several = "".join(
        f"parallelize_module(model.{part}, mesh['tp'], ColwiseParallel())\n" for part in ("embed", "head")
    )
    (found,) = analyse(main(STYLES + several)).result.findings
    assert len(found.also) == 1


@pytest.mark.parametrize("body", ['"""Nothing by default."""', "...", "return [at for at in range(9)]"])
def test_a_function_that_is_nothing_but_its_docstring(body: str) -> None:
    """It is called, with nothing of a model in its hands."""
    empty = f"class Hooks:\n    def begin(self, step):\n        {body}\n"
    assert analyse(main(f"{SHARDED}Hooks().begin(3)\ntorch.save(model.state_dict(), 'model.pt')", empty)).codes == [
        "FSDP701"
    ]


# -- what a check refuses is no choice --------------------------------------------------


@pytest.mark.parametrize("check, codes", [
    ("if int(x.min()) < 0 or int(x.max()) >= 100: raise ValueError", []),
    ("assert int(x.max()) < 100", []),
    ("if int(x.max()) >= 100: return x", ["FSDP405"]),
])  # fmt: skip
def test_a_batch_that_is_refused(check: str, codes: list[str]) -> None:
    body = f"""
class Checked(Net):
    def forward(self, x):
        {check}
        return super().forward(x)

model = Checked()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.utils.data.DataLoader([1, 2]):
    model(batch["tokens"]).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    assert [code for code in analyse(main(body)).codes if code == "FSDP405"] == codes


@pytest.mark.parametrize("leaves, codes", [
    ("os._exit(17)", []), ("sys.exit('failed')", []), ("raise SystemExit(1)", []), ("raise RuntimeError", []),
    ("sys.exit()", ["FSDP801"]), ("os._exit(0)", ["FSDP801"]),
])  # fmt: skip
def test_a_rank_that_fails_ends_the_job(leaves: str, codes: list[str]) -> None:
    assert analyse(main(f"{SHARDED}if dist.get_rank() == 1:\n    {leaves}\ndist.barrier()\n")).codes == codes


# -- questions that may tell sharded models from others -----------------------------------


ASKS = """
def is_split(model):
    for parameter in model.parameters():
        if {asks}:
            return True
    return False


def state_of(model, mesh):
    if is_split(model):
        return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    return model.state_dict()
"""
WRITES = """
with open("config.yaml") as file:
    config = yaml.safe_load(file)
mesh = init_device_mesh("cuda", (config["replicas"], config["shards"]), mesh_dim_names=("replicate", "shard"))
model = Net()
if config["sharded"]:
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
state = {state}
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


@pytest.mark.parametrize("asks", [
    "type(parameter).__name__ == 'DTensor'",
    "type(parameter) is DTensor",
    "isinstance(parameter, DTensor)",
    "hasattr(parameter, 'full_tensor')",
    "'DTensor' in type(parameter).__name__",
    "type(parameter.data).__name__.endswith('DTensor')",
])  # fmt: skip
def test_a_model_is_asked_what_its_parameters_are(asks: str) -> None:
    assert analyse(main(WRITES.format(state="state_of(model, mesh)"), ASKS.format(asks=asks))).codes == []


@pytest.mark.parametrize("asks", [
    "mesh['shard'].size() > 1", "mesh.ndim > 1", "'shard' in mesh.mesh_dim_names", "any(n > 1 for n in mesh.shape)",
])  # fmt: skip
def test_a_mesh_is_asked_whether_it_shards(asks: str) -> None:
    state = f"state_of(model, mesh) if {asks} else model.state_dict()"
    assert analyse(main(WRITES.format(state=state), ASKS.format(asks="isinstance(parameter, DTensor)"))).codes == []


@pytest.mark.parametrize("asks", ["config['whole']", "len(sys.argv) > 1", "dist.get_world_size() > 8"])
def test_a_setting_does_not_say_whether_a_model_is_sharded(asks: str) -> None:
    state = f"model.state_dict() if {asks} else state_of(model, mesh)"
    assert analyse(main(WRITES.format(state=state), ASKS.format(asks="isinstance(parameter, DTensor)"))).codes == [
        "FSDP701"
    ]


# -- what the measured behaviour of torch says -------------------------------------------


def test_two_questions_about_one_model_exclude_each_other() -> None:
    """What passes the first is never asked the second: a model that is sharded has no ``module``."""
    before = """
    def wrapped(model):
        return isinstance(model, (DistributedDataParallel, FSDPModule))

    def whole(model):
        if isinstance(model, FSDPModule):
            return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        return model.state_dict()

    def build():
        return AutoModel.from_pretrained("m")
    """
    body = """
from models import make
model = make(sys.argv)
if len(sys.argv) > 2:
    fully_shard(model)
bare = model.module if wrapped(model) else model
if dist.get_rank() == 0:
    whole(bare)
"""
    assert "FSDP801" not in analyse(main(body, before)).codes
    assert (
        "FSDP801"
        in analyse(main(body.replace("whole(bare)", "whole(model)").replace("bare =", "# bare ="), before)).codes
    )


EVALUATED = """
@torch.inference_mode()
def evaluate(model, batches):
    for batch in batches:
        model(batch)


{model}
optimizer = torch.optim.AdamW(model.parameters())
batches = torch.load("batches.pt")
{first}
for epoch in range(3):
    {begin}
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    {end}
"""


@pytest.mark.parametrize("place, codes", [("first", ["FSDP406"]), ("begin", ["FSDP406"]), ("end", [])])
def test_the_first_forward_makes_the_buffers(place: str, codes: list[str]) -> None:
    places = {name: "evaluate(model, batches)" if name == place else "pass" for name in ("first", "begin", "end")}
    text = main(EVALUATED.format(model=SHARDED, **places))
    assert [code for code in analyse(text).codes if code == "FSDP406"] == codes


def test_replicas_that_nobody_trains_stay_equal() -> None:
    body = """
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
model = AutoModel.from_pretrained("m")
for layer in model.layers:
    fully_shard(layer, mesh=mesh["shard"])
fully_shard(model, mesh=mesh["shard"])
"""
    trained = "optimizer = torch.optim.AdamW(model.parameters())\nmodel(1).sum().backward()\noptimizer.step()\n"
    assert "FSDP308" not in analyse(main(body + "with torch.no_grad():\n    model(1)\n")).codes
    assert "FSDP308" in analyse(main(body + trained)).codes


def test_a_check_of_the_rank_somewhere_else_says_nothing_here() -> None:
    body = f"""{SHARDED}
def for_rank_0():
    if dist.get_rank() != 0:
        raise RuntimeError("for rank 0 alone")
if len(sys.argv) > 2:
    for_rank_0()
if dist.get_rank() == 0:
    dist.barrier()
"""
    assert analyse(main(body)).codes == ["FSDP801"]


def test_a_hook_may_reduce_what_no_group_reduces() -> None:
    body = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
def average(parameter):
    dist.all_reduce(parameter.grad)
for parameter in model.{part}.parameters():
    parameter.register_post_accumulate_grad_hook(average)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2)).sum().backward()
optimizer.step()
"""
    assert analyse(main(body.format(part="head"))).codes == []
    assert analyse(main(body.format(part="head").replace("parameter.register", "pass # "))).codes == ["FSDP303"]


def test_a_script_has_no_process_group_before_it_makes_one() -> None:
    asks = """
if dist.is_initialized():
    fully_shard(model)
for parameter in model.parameters():
    print(parameter.norm().item())
"""
    alone = script("model = Net()" + asks, IMPORTS)
    assert analyse(alone).codes == []
    assert "FSDP603" in analyse(main("model = Net()" + asks)).codes
    assert (
        "FSDP603" in analyse(alone.replace("model = Net()", "from jobs import start; start()\n    model = Net()")).codes
    )


def test_a_lambda_that_is_not_worth_to_run() -> None:
    text = f"total = (lambda rows: [row for row in rows])([1, 2])\n{SHARDED}torch.save(model.state_dict(), 'model.pt')"
    assert analyse(main(text)).codes == ["FSDP701"]


@pytest.mark.parametrize("made", [
    "dict(model.named_modules())",
    "{name: part for name, part in model.named_modules()}",
    "dict(list(model.named_modules()))",
])  # fmt: skip
def test_names_choose_the_order(made: str) -> None:
    before = f"""
    def shard(model, names):
        parts = {made}
        for name in names:
            fully_shard(parts[name])
        fully_shard(model)
    """
    assert "FSDP302" not in analyse(main("shard(Net(), sys.argv[1].split(','))\n", before)).codes


def test_modules_come_in_their_own_order() -> None:
    body = "model = Net()\nfor name, part in dict(model.named_modules()).items():\n    fully_shard(part)\n"
    assert "FSDP302" in analyse(main(body)).codes


def rows(count: int, own: str) -> str:
    """A table with a row per way to train: each of its fields is read apart from the others."""
    plain = "".join(f"    'plain{at}': {{'how': 'fsdp2', 'small': False}},\n" for at in range(count))
    return f"WAYS = {{\n{plain}    'own': {{'how': '{own}', 'small': True}},\n}}\n"


@pytest.mark.parametrize("count", [2, 7, 12])
@pytest.mark.parametrize("own, codes", [("ddp", []), ("fsdp2", ["FSDP608"])])
def test_what_one_row_of_a_table_says_is_said_together(count: int, own: str, codes: list[str]) -> None:
    body = """
from bitsandbytes.optim import Adam8bit
way = WAYS[sys.argv[1]]
model = Net()
if way["how"] == "fsdp2":
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
else:
    model = DistributedDataParallel(model)
optimizer = Adam8bit(model.parameters()) if way["small"] else torch.optim.AdamW(model.parameters())
"""
    assert analyse(main(body, rows(count, own))).codes == codes


@pytest.mark.parametrize("leads, codes", [("if dist.get_rank() == 0:", []), ("if len(sys.argv) > 1:", ["FSDP807"])])
def test_an_error_where_one_rank_is_alone(leads: str, codes: list[str]) -> None:
    body = f"""{SHARDED}
for batch in torch.load("batches.pt"):
    {leads}
        try:
            model(batch)
        except Exception:
            continue
"""
    assert [code for code in analyse(main(body)).codes if code == "FSDP807"] == codes


def test_a_writer_that_cannot_write_shards_says_so() -> None:
    body = f"from safetensors.torch import save_file\n{SHARDED}save_file(model.state_dict(), 'model.st')"
    (found,) = analyse(main(body)).result.findings
    assert found.code == "FSDP701" and found.severity.value == "error" and "raises" in found.message


def test_every_rank_takes_its_own_part_of_a_loop() -> None:
    body = f"""{SHARDED}
mine = [at for at in range(64) if at % dist.get_world_size() == dist.get_rank()]
sums = {{}}
for at in mine:
    sums["loss"] = sums.get("loss", 0.0) + at
for name in sums:
    dist.all_reduce(torch.tensor(sums[name]))
"""
    assert "FSDP801" not in analyse(main(body)).codes
