"""Findings on real projects that were read and are false, each with what is wrong and looks like it."""

from __future__ import annotations

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import HEAD, NET, analyse, script

ENOUGH = """
def enough(least):
    has = torch.accelerator.is_available()
    return has and torch.accelerator.device_count() >= least


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 8)

    def forward(self, x):
        return self.up(x)

    def reset_parameters(self):
        self.up.reset_parameters()
"""
DRAWN = """
{first}
if torch.accelerator.is_available():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
else:
    device = torch.device("cpu")
torch.manual_seed(0)
with torch.device("meta"):
    model = Small()
fully_shard(model)
model.to_empty(device=device)
model.reset_parameters()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, device=device)).sum().backward()
optimizer.step()
"""


def test_a_machine_has_what_it_has() -> None:
    body = DRAWN.format(first="pass")
    left = DRAWN.format(first="if not enough(2):\n    raise SystemExit")
    assert "FSDP208" in analyse(script(f'dist.init_process_group("gloo")\n{body}', ENOUGH)).codes
    assert "FSDP208" not in analyse(script(f'dist.init_process_group("gloo")\n{left}', ENOUGH)).codes


CONFIGURED = """
from transformers import LlamaConfig


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = LlamaConfig.from_pretrained("m")
        self.up = nn.Linear(8, 8)

    def forward(self, x):
        return self.up(x)
"""


def test_the_configuration_of_a_model_is_no_model() -> None:
    body = """
    model = Holder()
    fully_shard(model)
    model(torch.ones(2, 8)).sum().backward()
    if dist.get_rank() == 0:
        {saved}.save_pretrained("out")
    """
    assert "FSDP701" not in analyse(main(body.format(saved="model.config"), CONFIGURED)).codes
    library = body.replace("Holder()", 'LlamaForCausalLM.from_pretrained("m")').replace(".sum()", ".loss")
    assert "FSDP701" in analyse(main(library.format(saved="model"), CONFIGURED)).codes


LOOKED_UP = f"""
from torch.distributed.tensor import distribute_tensor
{SHARDED}
own, found = model.state_dict(), {{{{}}}}
for name, value in torch.load("start.pt").items():
    {{put}}
model.load_state_dict(found, strict=False, assign=True)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


def test_names_that_are_looked_up_in_the_model() -> None:
    shard = "found[name] = distribute_tensor(value, own[name].device_mesh, own[name].placements)"
    assert "FSDP703" not in analyse(main(LOOKED_UP.format(put=shard))).codes


PICKED = """
from torch.distributed.fsdp import fully_shard


def fits(module, patterns):
    name = type(module).__name__
    for pattern in patterns:
        if "." in pattern:
            if f"{{type(module).__module__}}.{{name}}" == pattern:
                return True
        elif name.endswith(pattern):
            return True
    return False


def shard(model, patterns):
    for module in [each for _, each in model.named_modules() {picked}]:
        fully_shard(module)
"""


def test_a_filter_that_was_not_followed() -> None:
    assert analyse({"lib.py": PICKED.format(picked="if fits(each, patterns)")}).codes == []
    assert analyse({"lib.py": PICKED.format(picked="")}).codes == ["FSDP302"]


GATHERED = f"""
{SHARDED}
import safetensors.torch
whole = {{{{}}}}
for name, value in model.state_dict().items():
    if hasattr(value, {{asked}}):
        value = value.full_tensor()
    if dist.get_rank() == 0:
        whole[name] = value.cpu()
if dist.get_rank() == 0:
    safetensors.torch.save_file(whole, "model.safetensors")
"""


def test_what_a_distributed_tensor_alone_has() -> None:
    assert "FSDP701" not in analyse(main(GATHERED.format(asked='"_local_tensor"'))).codes
    never = main(GATHERED.format(asked='"_local_tensor"').replace("value = value.full_tensor()", "pass"))
    assert "FSDP701" in analyse(never).codes


FIRST = """
dist.init_process_group("nccl")
rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
model = Net()
fully_shard(model)
stamp = torch.zeros(8, device=f"cuda:{{local}}")
if {asked}:
    stamp = torch.ones(8, device=f"cuda:{{rank}}")
dist.broadcast(stamp, src=0)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


def test_the_first_of_all_has_the_first_device() -> None:
    assert "FSDP102" not in analyse(script(FIRST.format(asked="rank == 0"))).codes
    assert "FSDP102" in analyse(script(FIRST.format(asked="local == 0"))).codes
    assert "FSDP102" in analyse(script(FIRST.format(asked="rank < 9"))).codes


BUILT = """
def build(given):
    if isinstance(given, dict):
        return Net(**given)
    return given


class Trainer:
    def __init__(self, config):
        self.net, self.ema = self.made(config.net), self.made(config.net)
        self.optimizer = torch.optim.AdamW(self.net.parameters())

    def made(self, given):
        net = build(given)
        {first}
        fully_shard(net)
        {then}
        return net

    def step(self, batch):
        self.net(batch).sum().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
"""


def test_a_builder_that_hands_on_what_it_cannot_build() -> None:
    blocks = "for layer in net.layers:\n            fully_shard(layer)"
    assert "FSDP305" not in analyse(HEAD + NET + BUILT.format(first="pass", then="pass")).codes
    assert "FSDP302" in analyse(HEAD + NET + BUILT.format(first="pass", then=blocks)).codes
