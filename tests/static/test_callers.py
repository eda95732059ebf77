"""Who may reach sharding code, by names: what a name can mean counts, and not what it is spelled like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fsdp2_lint.static.entries import find_entries
from fsdp2_lint.static.frontend.project import Project

UTIL = """\
from torch.distributed.fsdp import fully_shard

def shard(model):
    fully_shard(model)

class Engine:
    def prepare(self, model):
        fully_shard(model)

    def spread(self, model):
        fully_shard(model)

class Derived(Engine):
    pass
"""
RUN = 'if __name__ == "__main__":\n    main()\n'


def reaches(script: str, others: Mapping[str, str] = {}) -> bool:
    """Is ``train.py`` a script from which sharding code may be reached?"""
    texts = {"train.py": f"import torch\n{script}\n{RUN}", "util.py": UTIL, **others}
    overlay = {f"/program/{name}": text.encode() for name, text in texts.items()}
    project = Project(Path("/program"), overlay)
    project.files = sorted(overlay)
    return [each.path for each in find_entries(project, frozenset()).scripts] == ["/program/train.py"]


@pytest.mark.parametrize("script", [
    "from util import shard\ndef main():\n    shard(make())",
    "from util import shard as apply\ndef main():\n    apply(make())",
    "from util import *\ndef main():\n    shard(make())",
    "import util\ndef main():\n    util.shard(make())",
    "import util as tools\ndef main():\n    tools.shard(make())",
    "def main():\n    from util import shard\n    shard(make())",
    "from util import Engine\ndef main():\n    Engine().prepare(make())",
    "from util import Derived\ndef main():\n    Derived().prepare(make())",
    "import util\ndef main(engine):\n    engine.spread(make())",
    "from util import Engine\ndef main(engine: Engine):\n    engine.prepare(make())",
    "from util import shard\ndef run(step):\n    step(make())\ndef main():\n    run(step=shard)",
    "import util\ndef main():\n    getattr(util, 'sha' + 'rd')(make())",
], ids=str)  # fmt: skip
def test_what_may_reach_it(script: str) -> None:
    assert reaches(script)


@pytest.mark.parametrize("script", [
    "import util\ndef main(shard=None):\n    print(shard)",
    "import util\nfrom torch.utils import shard\ndef main():\n    shard(make())",
    "import util\ndef shard(rows):\n    return rows\ndef main():\n    shard(make())",
    "from util import Engine\ndef main(engine: Engine):\n    print(engine)",
    "from util import Engine\ndef main(x):\n    print(isinstance(x, Engine))",
    "import util\nclass T:\n  def spread(self): ...\n  def show(self):\n    self.spread()\ndef main():\n  T().show()",
    "import more\ndef main(table):\n    table.prepare()\n    print(table.shape)",
], ids=str)  # fmt: skip
def test_what_is_only_spelled_like_it(script: str) -> None:
    assert not reaches(script, {"more.py": "import util\n"})


def test_a_package_hands_it_on() -> None:
    script = "from kit import shard\ndef main():\n    shard(make())"
    assert reaches(
        script, {"kit/__init__.py": "from .inner import shard\n", "kit/inner.py": "from util import shard\n"}
    )
    other = "def shard(rows):\n    return rows\n"
    assert not reaches(script, {"kit/__init__.py": f"import util\n{other}"})


def test_a_class_below_a_condition_has_methods_too() -> None:
    kind = """\
from util import shard
if FAST:
    class Wrapper:
        def __init__(self, model):
            shard(model)
"""
    assert reaches("from kind import Wrapper\ndef main():\n    Wrapper(make())", {"kind.py": kind})


def test_super_goes_up_only() -> None:
    """What the base of a class that shards does with its own base reaches no sharding code."""
    bases = """\
import util
class Root:
    def __init__(self): ...
class Base(Root):
    def __init__(self):
        super().__init__()
class Sharded(Base):
    def __init__(self, model):
        super().__init__()
        util.shard(model)
class Plain(Base):
    def __init__(self):
        super().__init__()
"""
    assert reaches("from bases import Sharded\ndef main():\n    Sharded(make())", {"bases.py": bases})
    assert not reaches("from bases import Plain\ndef main():\n    Plain()", {"bases.py": bases})


def test_a_function_that_a_decorator_puts_into_a_table() -> None:
    table = """\
import util
PLANS = {}
def plan(fn):
    PLANS[fn.__name__] = fn
    return fn
@plan
def whole(model):
    util.shard(model)
"""
    assert reaches("from table import PLANS\ndef main():\n    PLANS['whole'](make())", {"table.py": table})


def test_what_stands_in_the_arguments_of_a_decorator_is_no_table() -> None:
    """A parameter of a test is named there, and what it is called with."""
    table = """\
import util
def make_args(**given):
    given.update(size=3)
    return dict(rate=given)
@mark([make_args(rate=3)])
def whole(model, rate):
    util.shard(model)
"""
    assert not reaches("import table\ndef main(rate=3):\n    print(rate)", {"table.py": table})


def test_a_method_that_shards_is_called_on_a_model_that_a_framework_builds() -> None:
    """Nothing imports the file of the model: its name stands in a configuration."""
    kind = UTIL.replace("def prepare", "def apply_sharding").replace("def spread", "def forward")
    script = (
        "import hydra\ndef main():\n    model = hydra.utils.instantiate(cfg.model)\n    model.apply_sharding(make())"
    )
    assert reaches(script, {"net.py": kind})
    assert not reaches(script.replace("apply_sharding", "forward"), {"net.py": kind})
    assert not reaches("def main(apply_sharding):\n    print(apply_sharding)", {"net.py": kind})


BASES = """\
WAYS = {}

def register(name):
    def add(cls):
        WAYS[name] = cls
        return cls
    return add

class Way:
    def prepare(self, model):
        raise NotImplementedError

class Spread(Way):
    pass
"""
WAY = """\
from bases import Spread, register
from torch.distributed.fsdp import fully_shard

@register("fsdp2")
class Sharded(Spread):
    def prepare(self, model):
        fully_shard(model)
"""
TRAINER = """\
import all_ways
from bases import Way

class Trainer:
    def __init__(self, way{typed}):
        way.prepare(make())
"""
SCRIPT = """\
import ways
from bases import WAYS
from trainer import Trainer

def main():
    Trainer(WAYS["fsdp2"]())
"""


@pytest.mark.parametrize(("typed", "found"), [(": Way", True), (": Spread", True), (": Other", False), ("", False)])
def test_a_method_of_a_common_name_on_what_is_said_to_be_of_a_base_class(typed: str, found: bool) -> None:
    """The base classes stand in a file that has nothing to do with sharding."""
    files = {
        "bases.py": BASES,
        "ways.py": WAY,
        "all_ways.py": "import ways\n",
        "trainer.py": TRAINER.format(typed=typed),
    }
    assert reaches(SCRIPT, files) is found
