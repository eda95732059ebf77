"""Plugins: files of a folder, imported by names put together, and ``__subclasses__`` of what they derive from."""

from __future__ import annotations

import textwrap

import pytest

from tests.static.program import HEAD, NET, analyse

BASE = """
class Strategy:
    name = ""

    def wrap(self, model):
        raise NotImplementedError
"""
FSDP = (
    HEAD
    + """
from plugins.base import Strategy

class Sharded(Strategy):
    name = "fsdp2"

    def wrap(self, model):
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        return model
"""
)
OFFLOADED = """
from plugins.sharded import Sharded

class Offloaded(Sharded):
    name = "offload"
"""
OTHER = """
from plugins.base import Strategy

class Plain(Strategy):
    name = "plain"

    def wrap(self, model):
        return model
"""
SELECTS = 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'
TRAIN = f"""{HEAD}
import plugins

{NET}

def main():
    {SELECTS}
    dist.init_process_group("nccl")
    model = Net()
    {{before}}
    plugins.load_all()
    model = plugins.find(os.environ["STRATEGY"]).wrap(model)
    {{after}}
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()

main()
"""
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters())"

IMPORTS = {
    "modules of the package": """
import importlib, pkgutil
for found in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{found.name}")
""",
    "relative names": """
import importlib, pkgutil
for _, name, _ in pkgutil.iter_modules(__path__):
    importlib.import_module("." + name, package=__package__)
""",
    "names of files": """
import os
from importlib import import_module
for file in sorted(os.listdir(os.path.dirname(__file__))):
    if file.endswith(".py") and not file.startswith("_"):
        import_module("plugins." + file[:-3])
""",
    "by paths": """
import importlib
from pathlib import Path
for file in Path(__file__).parent.glob("[a-z]*.py"):
    importlib.import_module(f".{file.stem}", __name__)
""",
    "walked": """
import importlib, pkgutil
for found in pkgutil.walk_packages(__path__, prefix=__name__ + "."):
    importlib.import_module(found.name)
""",
    "one by one": 'import importlib\nimportlib.import_module("plugins.sharded")\nfrom plugins import offloaded, plain',
}
FINDS = {
    "worklist": """
def find(name):
    table, todo = {}, [Strategy]
    while todo:
        for each in todo.pop().__subclasses__():
            table[each.name] = each
            todo.append(each)
    if name not in table:
        raise SystemExit(name)
    return table[name]()
""",
    "worklist that skips": """
def find(name):
    found, todo = [], [Strategy]
    while todo:
        cls = todo.pop()
        todo.extend(cls.__subclasses__())
        if not cls.name:
            continue
        found.append(cls)
    return {each.name: each for each in found}[name]()
""",
    "direct ones": "def find(name):\n    return {cls.name: cls for cls in Strategy.__subclasses__()}[name]()",
    "first that fits": """
def find(name):
    for cls in Strategy.__subclasses__():
        if cls.name == name:
            return cls()
    raise ValueError(name)
""",
    "next": "def find(name):\n    return next(cls for cls in Strategy.__subclasses__() if cls.name == name)()",
    "recursion": """
def below(cls):
    found = []
    for each in cls.__subclasses__():
        found.append(each)
        found.extend(below(each))
    return found

def find(name):
    return {cls.name: cls for cls in below(Strategy)}[name]()
""",
}


def _in_a_function(imports: str) -> str:
    return f"def load_all():\n{textwrap.indent(imports, '    ')}"


def _files(imports: str, find: str, *, right: bool) -> dict[str, str]:
    before, after = ("pass", OPTIMIZER) if right else (OPTIMIZER, "pass")
    return {
        "train.py": TRAIN.format(before=before, after=after),
        "plugins/__init__.py": f"{_in_a_function(imports)}\nfrom plugins.base import Strategy\n{find}",
        "plugins/base.py": BASE,
        "plugins/sharded.py": FSDP,
        "plugins/offloaded.py": OFFLOADED,
        "plugins/plain.py": OTHER,
    }


def _codes(files: dict[str, str]) -> list[str]:
    return analyse(files).codes


@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_what_a_folder_holds_is_imported(imports: str) -> None:
    """And nothing else: no module that nobody sees may have selected the device."""
    assert _codes(_files(imports, FINDS["worklist"], right=False)) == ["FSDP601"]
    right = _files(imports, FINDS["worklist"], right=True)
    assert _codes(right) == []
    on_gpu = right["train.py"].replace(SELECTS, "").replace("= Net()", "= Net().cuda()")
    assert "FSDP101" in _codes({**right, "train.py": on_gpu})


@pytest.mark.parametrize("imports", [
    "import importlib, os\nimportlib.import_module(os.environ['PLUGIN'])",
    "import importlib, os\nimportlib.import_module(f'their_plugins.{os.environ[\"PLUGIN\"]}')",
    "import importlib, os\nimportlib.import_module(os.environ['PLUGIN'] + '.sharded')",
    "import importlib, pkgutil, theirs\n"
    "for _, name, _ in pkgutil.walk_packages(theirs.__path__, 'theirs.'):\n    importlib.import_module(name)",
])  # fmt: skip
def test_a_module_of_anybody_may_select_the_device(imports: str) -> None:
    files = _files(f"{imports}\nimport plugins.offloaded", FINDS["worklist"], right=True)
    on_gpu = files["train.py"].replace(SELECTS, "").replace("= Net()", "= Net().cuda()")
    assert "FSDP101" not in _codes({**files, "train.py": on_gpu})


@pytest.mark.parametrize("find", FINDS.values(), ids=FINDS)
def test_subclasses_are_those_of_all_files(find: str) -> None:
    imports = IMPORTS["modules of the package"]
    assert _codes(_files(imports, find, right=False)) == ["FSDP601"]
    assert _codes(_files(imports, find, right=True)) == []


def test_a_class_that_the_program_does_not_import_is_none_of_them() -> None:
    """Of two scripts that have strategies of their own, each has its own only."""
    files = _files(
        "pass", "def find(name):\n    for cls in Strategy.__subclasses__():\n        return cls()", right=False
    )
    assert _codes(files) == []
    assert _codes({**files, "train.py": f"import plugins.plain\n{files['train.py']}"}) == []
    assert _codes({**files, "train.py": f"import plugins.sharded\n{files['train.py']}"}) == ["FSDP601"]
    other = f"import plugins.plain\nimport plugins.sharded\n{files['train.py']}"
    assert _codes({**files, "train.py": f"import plugins.plain\n{files['train.py']}", "other.py": other}) == []
