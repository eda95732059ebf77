"""Torch's own errors, provoked, and the clause that is named for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.catalogue import registry
from fsdp2_lint.runtime.crashes.messages import (
    BYPASS,
    CLASH,
    DIRECT,
    EXPLANATIONS,
    FSDP1,
    GATHERED,
    LOADING,
    OUTSIDE,
    SHARDS_SAVED,
    USED_OUTSIDE,
)
from fsdp2_lint.vocab.behaviour import POLICY_IS_COPIED
from fsdp2_lint.vocab.finding import Observed
from fsdp2_lint.vocab.target import parse
from tests.runtime.commands import HEAD, row
from tests.runtime.jobs import Job, run_program

pytestmark = pytest.mark.torchrun

RULES = {rule.code: rule for rule in registry.rules()}
SHARDED = "model = shard(Net())\n"
COPIED = POLICY_IS_COPIED.of(parse(torch.__version__))  # then fully_shard raises, and not the first forward
FORWARD = "loss = model(batch(0)).sum()\n"
TRAINED = SHARDED + "train(model, torch.optim.SGD(model.parameters(), lr=0.1), 1)\n"

# name: (the code, a part of torch's own message, the program after HEAD)
ERRORS: dict[str, tuple[str, str, str]] = {
    "sharded twice": (
        "FSDP305",
        "AssertionError: Each distinct composable distributed API can only be applied to a module once",
        SHARDED + "fully_shard(model)\n",
    ),
    "parent before child": (
        "FSDP302",
        "TypeError: Invariant encountered: value was None when it should not be",
        "model = fully_shard(Net())\nfully_shard(model.head)\n",
    ),
    "parent before child, on a mesh with names": (
        "FSDP302",
        "RuntimeError: Cannot concatenate overlapping meshes",
        "mesh = torch.distributed.init_device_mesh('cpu', (dist.get_world_size(),), mesh_dim_names=('shard',))\n"
        "model = fully_shard(Net(), mesh=mesh)\nfully_shard(model.head, mesh=mesh)\n",
    ),
    "a part runs first": (
        "FSDP403",
        "RuntimeError: FSDP state has already been lazily initialized",
        SHARDED + "model.layers[0](torch.zeros(1, 16))\nmodel(batch(0))\n",
    ),
    "tied across groups": (
        "FSDP307",
        "is shared with a parameter already managed by another FSDP group",
        "model = Net()\nmodel.head.weight = model.embed.weight\n"
        "fully_shard(model.head)\nfully_shard(model.embed)\nfully_shard(model)\n" + FORWARD,
    ),
    "mixed dtypes": (
        "FSDP314",
        "AssertionError: FSDP expects uniform original parameter dtype",
        "model = Net()\nmodel.head.half()\nfully_shard(model)\n" + FORWARD,
    ),
    "on meta": (
        "FSDP202",
        "FSDP parameters should be materialized from meta device",
        "with torch.device('meta'):\n    model = Net()\nshard(model)\n" + FORWARD,
    ),
    "a list of modules": (
        "FSDP306",
        "ValueError: fully_shard does not support containers that do not implement forward",
        "fully_shard(Net().layers)\n",
    ),
    "a parameter is replaced before the first forward": (
        "FSDP320",
        "AttributeError: 'Parameter' object has no attribute '_local_tensor'",
        SHARDED + "model.head.weight = nn.Parameter(torch.zeros(32, 16))\n" + FORWARD,
    ),
    "no_sync": (
        "FSDP605",
        "AttributeError: 'FSDPNet' object has no attribute 'no_sync'",
        SHARDED + "with model.no_sync():\n    pass\n",
    ),
    "clip_grad_norm_ of the model": (
        "FSDP606",
        "AttributeError: 'FSDPNet' object has no attribute 'clip_grad_norm_'",
        SHARDED + "model.clip_grad_norm_(1.0)\n",
    ),
    "a keyword of FSDP1": (
        "FSDP902",
        "TypeError: fully_shard() got an unexpected keyword argument 'auto_wrap_policy'",
        "fully_shard(Net(), auto_wrap_policy=None)\n",
    ),
    "a policy of FSDP1": (
        "FSDP503",
        "keyword argument 'param_dtype_override_fn'" if COPIED else "object has no attribute",
        "from torch.distributed.fsdp import MixedPrecision\n"
        "model = fully_shard(Net(), mp_policy=MixedPrecision(param_dtype=torch.bfloat16))\n" + FORWARD,
    ),
    "a dtype as policy": (
        "FSDP503",
        "TypeError: replace() should be called on dataclass instances" if COPIED else "object has no attribute",
        "model = fully_shard(Net(), mp_policy=torch.bfloat16)\n" + FORWARD,
    ),
    "a gathered tensor is used after its time": (
        "FSDP318",
        "are out of bounds for storage of size 0",
        "class Out:\n    def __init__(self, value):\n        self.value = value\n\n\n"
        "class Block(nn.Linear):\n    def forward(self, x):\n        return Out(super().forward(x))\n\n\n"
        "class Top(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.first, self.second = Block(16, 16), nn.Linear(16, 16)\n\n"
        "    def forward(self, x):\n        return self.second(self.first(x).value)\n\n\n"
        "model = Top()\nfully_shard(model.first)\nfully_shard(model)\n"
        "model(torch.ones(4, 16, requires_grad=True)).sum().backward()\n",
    ),
    "plain tensors are loaded": (
        "FSDP705",
        "got mixed torch.Tensor and DTensor",
        "whole = Net().state_dict()\n" + SHARDED + "model.load_state_dict(whole)\n",
    ),
    "plain tensors are assigned": (
        "FSDP705",
        "object has no attribute '_local_tensor'",
        "whole = Net().state_dict()\n" + SHARDED + "model.load_state_dict(whole, assign=True)\n",
    ),
    "the root is not sharded, and clips": (
        "FSDP303",
        "got mixed torch.Tensor and DTensor",
        "model = Net()\nfor layer in model.layers:\n    fully_shard(layer)\n"
        + FORWARD
        + "loss.backward()\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
    ),
    "the root is not sharded, and clips one by one": (
        "FSDP303",
        "got mixed torch.Tensor and DTensor",
        "model = Net()\nfor layer in model.layers:\n    fully_shard(layer)\n"
        + FORWARD
        + "loss.backward()\nnn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)\n",
    ),
    "forward by name": (
        "FSDP401",
        "got mixed torch.Tensor and DTensor",
        SHARDED + "model.forward(batch(0))\n",
    ),
    "another method": (
        "FSDP402",
        "got mixed torch.Tensor and DTensor",
        "class Coder(Net):\n    def encode(self, tokens):\n        return self.embed(tokens)\n\n\n"
        "model = shard(Coder())\nmodel.encode(batch(0))\n",
    ),
    "a weight outside": (
        "FSDP404",
        "got mixed torch.Tensor and DTensor",
        SHARDED + "torch.ones(2, 16) @ model.layers[0].weight\n",
    ),
    "a weight of another group": (
        "FSDP404",
        "got mixed torch.Tensor and DTensor",
        "class Tied(Net):\n    def forward(self, tokens):\n"
        "        return nn.functional.linear(self.layers[0](self.embed(tokens)), self.embed.weight)\n\n\n"
        "model = Tied()\nfully_shard(model.embed)\nfully_shard(model)\n" + FORWARD,
    ),
    "a weight of a model that a trainer holds": (
        "FSDP404",
        "got mixed torch.Tensor and DTensor",
        "class Trainer:\n    def __init__(self):\n        self.models = {'main': shard(Net())}\n\n"
        "    def logits(self, h):\n        return torch.einsum('td,vd->tv', h, self.models['main'].head.weight)\n\n\n"
        "Trainer().logits(torch.ones(8, 16))\n",
    ),
    "a weight that was turned before": (
        "FSDP404",
        "got mixed torch.Tensor and DTensor",
        SHARDED + "turned = model.head.weight.t()\ntorch.ones(2, 16) @ turned\n",
    ),
    "an average of weights after a forward": (
        "FSDP407",
        "got mixed torch.Tensor and DTensor",
        SHARDED + "average = [each.detach().clone() for each in model.parameters()]\n"
        "with torch.no_grad():\n    model(batch(0))\n    for one, other in zip(average, model.parameters()):\n"
        "        one.lerp_(other, 0.1)\n",
    ),
    "an average of weights after a forward, at once": (
        "FSDP407",
        "got mixed torch.Tensor and DTensor",
        "import copy\n" + SHARDED + "average = shard(Net())\nwith torch.no_grad():\n    model(batch(0))\n"
        "    torch._foreach_copy_(list(average.parameters()), list(model.parameters()))\n",
    ),
    "another dtype than that of a norm": (
        "FSDP308",
        "mixed dtype (CPU)",
        "model = Net()\nmodel.layers[0] = nn.LayerNorm(16)\nlow = MixedPrecisionPolicy(torch.bfloat16, "
        "cast_forward_inputs=False)\nfully_shard(model.layers[0], mp_policy=low)\nfully_shard(model)\n" + FORWARD,
    ),
    "another dtype than that of a convolution": (
        "FSDP308",
        "Input type (float) and bias type",
        "model = Net()\nmodel.layers[1] = nn.Sequential("
        "nn.Unflatten(0, (1, -1)), nn.Conv1d(8, 8, 1), nn.Flatten(0, 1))\n"
        "low = MixedPrecisionPolicy(torch.bfloat16, cast_forward_inputs=False)\n"
        "fully_shard(model.layers[1], mp_policy=low)\nfully_shard(model)\n" + FORWARD,
    ),
    # The package itself is not needed: its writer reads the memory of each tensor.
    "safetensors": (
        "FSDP701",
        "access the data pointer on an invalid python storage",
        SHARDED + "folder = os.path.abspath('site-packages/safetensors')\nos.makedirs(folder, exist_ok=True)\n"
        "open(folder + '/__init__.py', 'w').close()\n"
        "text = 'def save_file(state, path):\\n    return [x.untyped_storage().data_ptr() for x in state.values()]'\n"
        "with open(folder + '/torch.py', 'w') as file:\n    file.write(text)\n"
        "sys.path.insert(0, 'site-packages')\nfrom safetensors.torch import save_file\n"
        "save_file(model.state_dict(), 'model.safetensors')\n",
    ),
    "state_dict_type of FSDP1": (
        "FSDP903",
        "KeyError: None",
        "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType\n"
        + SHARDED
        + "with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):\n    pass\n",
    ),
    "optim_state_dict of FSDP1": (
        "FSDP903",
        "optim_state_dict_config",
        "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"
        + SHARDED
        + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nFSDP.optim_state_dict(model, optimizer)\n",
    ),
}


def run(tmp_path: Path, program: str) -> Job:
    (tmp_path / "train.py").write_text(HEAD + program)
    ranks = 2 if "get_world_size()" in program else 1
    return run_program(tmp_path / "train.py", tmp_path / "report", ranks=ranks)


@pytest.mark.quick(2)
@pytest.mark.parametrize(("code", "message", "program"), ERRORS.values(), ids=ERRORS)
def test_error(tmp_path: Path, code: str, message: str, program: str) -> None:
    """The error is torch's, it ends the script as ever, and the clause is named with why and fix."""
    job = run(tmp_path, program)
    (crash,) = job.report.crashes
    assert message in crash.error
    assert (crash.code, crash.ranks) == (code, job.report.ranks), crash
    assert {each.code for each in job.outcomes} == {1}
    assert crash.why and crash.fix
    output = job.output()
    assert f"fsdp2-lint: {code}: {crash.why}\n  fix: {crash.fix}\n" in output
    printed = [line for line in output.splitlines() if crash.error.splitlines()[0] in line]
    assert printed, output  # the traceback is there
    assert "check broke down" not in str(job.report.notes), job.report.notes
    # What is explained is found, once, on the line of the job that is to be changed.
    (found,) = [each for each in job.findings if each.code == code]
    assert found.primary.site.path == str((tmp_path / "train.py").resolve()) and found.observed is not None
    assert found.observed.ranks == crash.ranks and found.severity is RULES[code].severity


def test_each_explanation_is_provoked() -> None:
    provoked = {code for code, _, _ in ERRORS.values()}
    needs_gpus = {"FSDP101", "FSDP105"}
    every = {
        each.code
        for each in (
            *EXPLANATIONS,
            BYPASS,
            CLASH,
            DIRECT,
            FSDP1,
            GATHERED,
            LOADING,
            OUTSIDE,
            SHARDS_SAVED,
            USED_OUTSIDE,
        )
    }
    assert every - needs_gpus == provoked


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "FSDP101",
            "NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.cpp:93, invalid usage (run with NCCL_DEBUG=WARN)\n"
            "Last error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
        ),
        ("FSDP105", "No backend type associated with device type cpu"),
    ],
)
def test_errors_that_need_gpus(code: str, message: str) -> None:
    """Matched against the text of the message alone."""
    assert [each.code for each in EXPLANATIONS if each.fits(message)] == [code]


@pytest.mark.parametrize(
    "program",
    [
        "raise ValueError('no data')\n",
        SHARDED + "model.embed.wieght\n",
        "torch.ones(2, 3) @ torch.ones(2, 3)\n",
        TRAINED + "model.load_state_dict({})\n",
        pytest.param(
            "fully_shard(Net(), reshard_after_foward=True)\n",
            id="a keyword that is mistyped",
        ),
        pytest.param(
            SHARDED + "model.state_dict()['head.weight'].untyped_storage().data_ptr()\n", id="who reads it is not known"
        ),
        pytest.param(
            "sharded = shard(Net()).state_dict()\nNet().load_state_dict(sharded)\n",
            id="shards are loaded into a plain model",
        ),
        pytest.param(
            "plain = Net()\nold = torch.optim.Adam(plain.parameters())\n"
            "nn.functional.cross_entropy(plain(batch(0)), batch(0)).backward()\nold.step()\n"
            + SHARDED
            + "new = torch.optim.Adam(model.parameters())\n"
            + "new.load_state_dict(old.state_dict())\ntrain(model, new, 1)\n",
            id="an optimizer has plain states",
        ),
        pytest.param(
            SHARDED + FORWARD + "loss.backward()\nmodel.head.weight.grad.add_(torch.ones(32, 16))\n",
            id="a plain tensor is added to a gradient",
        ),
    ],
)
def test_other_errors_are_not_explained(tmp_path: Path, program: str) -> None:
    """A wrong explanation is worse than none."""
    (crash,) = run(tmp_path, program).report.crashes
    assert (crash.code, crash.why, crash.fix) == ("", "", ""), crash


# What only a crash shows to a clause.


def test_sharded_twice_is_found(tmp_path: Path) -> None:
    program = SHARDED + "fully_shard(model)  # again\n"
    (found,) = run(tmp_path, program).findings
    assert (found.code, found.primary.site.row) == ("FSDP305", row(HEAD + program, "fully_shard(model)  # again"))
    assert [label.site.row for label in found.related] == [45, row(HEAD, "    return fully_shard(model)")]


@pytest.mark.slow
def test_a_bypassing_method_is_found(tmp_path: Path) -> None:
    program = ERRORS["another method"][2]
    (found,) = run(tmp_path, program).findings
    assert (found.code, found.primary.site.row) == ("FSDP402", row(HEAD + program, "model.encode"))
    assert found.observed is not None and found.observed.ranks == Observed((0,)).ranks


@pytest.mark.slow
def test_a_method_that_calls_the_model_is_not(tmp_path: Path) -> None:
    """It runs through the hooks, and what it runs into is not its own fault."""
    program = (
        "class Coder(Net):\n    def generate(self, tokens):\n        return self(tokens) @ torch.ones(7, 7)\n\n\n"
        "model = shard(Coder())\nmodel.generate(batch(0))\n"
    )
    job = run(tmp_path, program)
    assert job.findings == [] and job.report.crashes[0].code == ""


# How it is shown.


def test_the_traceback_begins_in_the_script(tmp_path: Path) -> None:
    output = run(tmp_path, SHARDED + "model.forward(batch(0))\n").output()
    first = next(line for line in output.splitlines() if line.lstrip("[rank0]: ").startswith("File "))
    assert 'train.py", line' in first


@pytest.mark.slow
def test_hook_of_the_user(tmp_path: Path) -> None:
    """Whoever replaced sys.excepthook is still asked."""
    program = "sys.excepthook = lambda kind, error, traceback: print('mine:', error)\nraise ValueError('no data')\n"
    job = run(tmp_path, program)
    assert job.output().startswith("mine: no data\n") and "Traceback" not in job.output()


def test_an_error_that_is_wrapped(tmp_path: Path) -> None:
    """Trainers wrap: `raise RuntimeError(...) from error`."""
    program = SHARDED + (
        "try:\n    model.no_sync()\nexcept AttributeError as error:\n"
        "    raise RuntimeError('training failed') from error\n"
    )
    (crash,) = run(tmp_path, program).report.crashes
    assert (crash.error, crash.code) == ("RuntimeError: training failed", "FSDP605")


def test_an_error_that_the_script_catches(tmp_path: Path) -> None:
    program = SHARDED + "try:\n    model.no_sync()\nexcept AttributeError:\n    print('caught')\n"
    job = run(tmp_path, program)
    assert (job.report.crashes, job.outcomes[0].code, job.output()) == ([], 0, "caught\n")
