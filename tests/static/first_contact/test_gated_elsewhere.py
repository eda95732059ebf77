"""A file that not every torch can load, and the gates before it: one file away, or more."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.lint import Asked, lint

SHARDING = """\
import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

def split(model):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
"""
START = """\
import os
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import FullyShardedDataParallel

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = Stack().cuda()
"""
TRAINING = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    model(torch.randn(4, 16).cuda()).mean().backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    print(float(norm))
    optimizer.step()
    optimizer.zero_grad()
"""
OTHERWISE = "\nif NEW:\n    split(model)\nelse:\n    model = FullyShardedDataParallel(model)\n"
AT_THE_TOP = "from engine.sharding import split\nNEW = True\n"
IN_TRY = """\
try:
    from engine.sharding import split
    NEW = True
except {caught}:
    {handler}
"""
IN_FUNCTION = """
def sharded(model):
    {test}
        from engine.sharding import split
        split(model)
        return model
    return FullyShardedDataParallel(model)

model = sharded(model)
"""


def program(first: str, then: str = OTHERWISE, **others: str) -> dict[str, str]:
    files = {"train.py": f"{first}{START}{then}{TRAINING}", "engine/__init__.py": "", "engine/sharding.py": SHARDING}
    return files | {f"{name.replace('__', '/')}.py": text for name, text in others.items()}


def messages(folder: Path, files: dict[str, str], pinned: str = "2.5.1", *, cache: str | None = None) -> dict[str, str]:
    """What is said of the norm and of the import."""
    for name, text in {**files, "requirements.txt": f"torch=={pinned}\nnumpy\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    asked = Asked(select=["FSDP603", "FSDP906"], cache=cache is not None, cache_dir=cache)
    report = lint([str(folder)], asked)
    assert not report.failures
    return {each.code: each.message for each in report.findings}


def is_gated(folder: Path, files: dict[str, str]) -> bool:
    """Is the import no finding? Then the norm is one for the first torch that comes to it, else for the pinned one."""
    said = messages(folder, files)
    gated = "FSDP906" not in said
    assert f"in torch {'2.6' if gated else '2.5'} clip_grad_norm_ returns" in said["FSDP603"]
    return gated


AVAILABLE = IN_TRY.format(caught="ImportError", handler="NEW = False")


@pytest.mark.parametrize("caught", ["ImportError", "(RuntimeError, ImportError)", "Exception as error", ""])
def test_an_import_that_may_fail(caught: str, tmp_path: Path) -> None:
    text = IN_TRY.format(caught=caught, handler="NEW = False").replace("except :", "except:")
    assert is_gated(tmp_path, program(text))


@pytest.mark.parametrize("first", [
    AT_THE_TOP,
    IN_TRY.format(caught="RuntimeError", handler="NEW = False"),
    IN_TRY.format(caught="ModuleNotFoundError", handler="NEW = False"),  # the module is there, and lacks a name
    IN_TRY.format(caught="(RuntimeError, ModuleNotFoundError)", handler="NEW = False"),
    IN_TRY.format(caught="ImportError", handler="raise"),
    IN_TRY.format(caught="ImportError as error", handler="print(error)\n    raise RuntimeError('torch') from error"),
    IN_TRY.format(caught="ImportError", handler="import sys\n    sys.exit('a newer torch is needed')"),
    IN_TRY.format(caught="ImportError", handler="raise\nexcept Exception:\n    NEW = False"),
    f"try:\n    NEW = False\nfinally:\n    {AT_THE_TOP.replace(chr(10), chr(10) + '    ')}\n",
])  # fmt: skip
def test_an_import_that_must_not_fail(first: str, tmp_path: Path) -> None:
    assert not is_gated(tmp_path, program(first))


def test_a_handler_that_raises_in_some_cases_only(tmp_path: Path) -> None:
    handler = "if os.environ.get('MUST'):\n        raise\n    NEW = False"
    assert is_gated(tmp_path, program("import os\n" + IN_TRY.format(caught="ImportError", handler=handler)))


VERSION = "version.parse(torch.__version__) >= version.parse('2.6')"


@pytest.mark.parametrize(("before", "test", "gated"), [
    ("from packaging import version\n", f"if {VERSION}:", True),
    ("from packaging import version\n", f"if not ({VERSION}):\n        return model\n    if True:", True),
    ("from compat import NEW\n", "if NEW:", True),
    ("from compat import NEW as newer\n", "assert newer\n    if True:", True),
    ("", "if os.environ.get('ENGINE') == 'new':", False),
    ("", "assert model is not None\n    if True:", False),
    ("import sys\n", "if sys.version_info < (3, 10):\n        return model\n    if True:", False),
])  # fmt: skip
def test_an_import_in_a_function(before: str, test: str, gated: bool, tmp_path: Path) -> None:
    compat = IN_TRY.format(caught="ImportError", handler="NEW = False").replace("engine.sharding", "engine")
    files = program(before, IN_FUNCTION.format(test=test), compat=compat)
    assert is_gated(tmp_path, files) == gated


@pytest.mark.parametrize("handler", ["return FullyShardedDataParallel(model)", "raise"])
def test_an_import_that_may_fail_in_a_function(handler: str, tmp_path: Path) -> None:
    body = f"""
def sharded(model):
    try:
        from engine.sharding import split
    except ImportError:
        {handler}
    split(model)
    return model

model = sharded(model)
"""
    assert ("FSDP906" not in messages(tmp_path, program("", body))) == (handler != "raise")


# What is done with the model then, where the helper is there or is None.
IN_OR_OUT = {
    "none": "if split is not None:\n    split(model)\nelse:\n    model = FullyShardedDataParallel(model)\n",
    "none, the other way round": """
if split is None:
    model = FullyShardedDataParallel(model)
else:
    split(model)
""",
    "returned": """
def sharded(model):
    try:
        from engine.sharding import split
    except ImportError:
        return FullyShardedDataParallel(model)
    split(model)
    return model

model = sharded(model)
""",
    "returned before": """
def sharded(model):
    if split is None:
        return FullyShardedDataParallel(model)
    split(model)
    return model

model = sharded(model)
""",
}


@pytest.mark.parametrize("way", IN_OR_OUT)
def test_the_norm_of_either_model(way: str, tmp_path: Path) -> None:
    """Where the import fails the norm is one of FSDP1, and complete; with FSDP2 it is not, whichever comes first."""
    helper = "try:\n    from engine.sharding import split\nexcept ImportError:\n    split = None\n"
    assert is_gated(tmp_path, program(helper, f"\n{IN_OR_OUT[way]}"))


IMPORT = "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard"


@pytest.mark.parametrize(("test", "gated"), [
    ("if version.parse(torch.__version__) >= version.parse('2.6'):", True),
    ("if hasattr(torch.distributed.fsdp, 'fully_shard'):", True),
    ("if unseen.has_fsdp2():", True),
    ("if settings.NEW:", True),
    ("if NEW and os.environ.get('SHARD'):", True),
    ("if typing.TYPE_CHECKING:", True),
    ("if False:", True),
    ("if True:", False),
    ("if os.environ.get('SHARD', '1') == '1':", False),
    ("if int(os.environ['WORLD_SIZE']) > 1:", False),
    ("if WANTED:", False),
    ("if WANTED and not os.getenv('PLAIN', '').strip():", False),
    ("if sys.platform == 'linux':", False),
])  # fmt: skip
def test_a_condition_in_the_same_file(test: str, gated: bool, tmp_path: Path) -> None:
    before = """\
import os
import sys
import typing
import unseen
from packaging import version
from unseen import settings
NEW = unseen.flag()
WANTED = os.environ.get("SHARD") != "no"
"""
    sharding = before + SHARDING.replace(IMPORT, f"{test}\n    {IMPORT}")
    said = messages(tmp_path, program(AT_THE_TOP) | {"engine/sharding.py": sharding})
    assert ("FSDP906" not in said) == gated


@pytest.mark.parametrize(("caught", "gated"), [("ModuleNotFoundError", False), ("ImportError", True)])
def test_a_name_that_the_module_lacks(caught: str, gated: bool, tmp_path: Path) -> None:
    own = SHARDING.replace(IMPORT, f"try:\n    {IMPORT}\nexcept {caught}:\n    fully_shard = None")
    said = messages(tmp_path, program(AT_THE_TOP) | {"engine/sharding.py": own})
    assert ("FSDP906" not in said) == gated


@pytest.mark.parametrize("caught", ["ModuleNotFoundError", "ImportError"])
def test_a_module_that_is_missing(caught: str, tmp_path: Path) -> None:
    """The private path went with a module."""
    private = "from torch.distributed._composable.fsdp import fully_shard"
    for text, silent in ((private, False), (f"try:\n    {private}\nexcept {caught}:\n    fully_shard = None", True)):
        (tmp_path / "train.py").write_text(f"{text}\n")
        found = lint([str(tmp_path)], Asked(select=["FSDP9"], cache=False)).findings
        assert ("torch.distributed._composable.fsdp" not in str(found)) == silent, found


BETWEEN = "from engine.sharding import split\n\ndef prepared(model):\n    split(model)\n    return model\n"


@pytest.mark.parametrize(("first", "gated"), [
    (AVAILABLE.replace("engine.sharding import split", "engine.middle import prepared as split"), True),
    ("from engine.middle import prepared as split\nNEW = True\n", False),
])  # fmt: skip
def test_a_gate_two_files_away(first: str, gated: bool, tmp_path: Path) -> None:
    assert is_gated(tmp_path, program(first, engine__middle=BETWEEN)) == gated


@pytest.mark.parametrize(("first", "gated"), [
    (AVAILABLE.replace("engine.sharding", "engine"), True),
    (AVAILABLE.replace("NEW = True", "NEW = True\n    from engine import plain"), True),
    ("from engine import plain\n" + AVAILABLE, False),
    ("import engine.plain\n" + AVAILABLE, False),
])  # fmt: skip
def test_a_package_that_loads_it(first: str, gated: bool, tmp_path: Path) -> None:
    """Whoever imports anything in a package loads the package first."""
    package = "from .sharding import split\n"
    files = program(first, engine__plain="RATE = 0.1\n") | {"engine/__init__.py": package}
    assert is_gated(tmp_path, files) == gated


OTHER = "from engine.sharding import split\n\ndef again(model):\n    split(model)\n"
GUARD = "\nif __name__ == '__main__':\n    print('from here as well')\n"


@pytest.mark.parametrize(("name", "other", "gated"), [
    ("evaluate", OTHER, False),
    ("evaluate", OTHER.replace("from", "if True:\n    from"), False),
    ("evaluate", AVAILABLE + OTHER[OTHER.index("\ndef") :], True),
    ("evaluate", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from engine.sharding import split\n", True),
    ("tests/test_engine", OTHER, True),
])  # fmt: skip
def test_one_way_without_a_gate_is_enough(name: str, other: str, gated: bool, tmp_path: Path) -> None:
    said = messages(tmp_path, program(AVAILABLE) | {f"{name}.py": other})
    assert ("FSDP906" not in said) == gated


@pytest.mark.parametrize(("other", "gated"), [(OTHER, False), (AVAILABLE + OTHER[OTHER.index("\ndef") :], True)])
def test_another_way_that_comes_later(other: str, gated: bool, tmp_path: Path) -> None:
    """What was kept of a program stands as long as nothing else imports the file without a gate."""
    folder, cache = tmp_path / "project", str(tmp_path / "cache")
    assert "in torch 2.6" in messages(folder, program(AVAILABLE), cache=cache)["FSDP603"]
    said = messages(folder, program(AVAILABLE) | {"evaluate.py": other}, cache=cache)
    assert f"in torch {'2.6' if gated else '2.5'}" in said["FSDP603"] and ("FSDP906" not in said) == gated


@pytest.mark.parametrize("tail", [GUARD, ""])
def test_a_file_that_is_run_itself(tail: str, tmp_path: Path) -> None:
    files = program(AVAILABLE) | {"engine/sharding.py": SHARDING + tail}
    assert ("FSDP906" in messages(tmp_path, files)) == bool(tail)


@pytest.mark.parametrize("own", ["fully_shard = None", "raise"])
def test_a_gate_in_the_same_file(own: str, tmp_path: Path) -> None:
    line = "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard"
    sharding = SHARDING.replace(line, f"try:\n    {line}\nexcept ImportError:\n    {own}")
    files = program("from engine.sharding import fully_shard, split\nNEW = fully_shard is not None\n")
    assert is_gated(tmp_path, files | {"engine/sharding.py": sharding}) == (own != "raise")


def test_what_the_older_torch_has_by_another_path(tmp_path: Path) -> None:
    """The pinned torch shards too, so what is said of it stands."""
    line = "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard"
    other = line.replace("distributed.fsdp", "distributed._composable.fsdp")
    sharding = SHARDING.replace(line, f"try:\n    {line}\nexcept ImportError:\n    {other}")
    said = messages(tmp_path, program(AT_THE_TOP) | {"engine/sharding.py": sharding})
    assert "FSDP906" not in said and "in torch 2.5 clip_grad_norm_ returns" in said["FSDP603"]


@pytest.mark.parametrize(("pinned", "norm"), [
    ("2.6.0", "in torch 2.6 clip"), ("2.9.1", "in torch 2.9 clip"), ("2.10.0", ""),
])  # fmt: skip
def test_a_torch_that_has_the_name(pinned: str, norm: str, tmp_path: Path) -> None:
    said = messages(tmp_path, program(AVAILABLE), pinned)
    assert "FSDP906" not in said and norm in said.get("FSDP603", "") and bool(norm) == ("FSDP603" in said)
