"""Imports are resolved to files of the project as Python would, and to nothing outside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fsdp2_lint.static.frontend.module import Unreadable, parse
from fsdp2_lint.static.frontend.project import Project
from tests.static.program import analyse

SHARD = "from torch.distributed.fsdp import fully_shard\n"
# A program whose fault is found only if ``shard`` is followed to its file.
MAIN = """
import torch
import torch.nn as nn
{imports}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)

def main():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    {call}(model)
    model(torch.ones(2)).sum().backward()
    optimizer.step()

main()
"""
HELPER = SHARD + "def shard(model):\n    fully_shard(model)\n"


def project(files: Mapping[str, str | bytes], root: Path) -> Project:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode() if isinstance(text, str) else text)
    made = Project(root)
    made.files = sorted(str(root / name) for name in files)
    return made


LAYOUTS = {
    "beside it": (["train.py", "util.py"], "train.py", "util", 0, "util.py"),
    "a package": (["train.py", "kit/__init__.py"], "train.py", "kit", 0, "kit/__init__.py"),
    "a file in a package": (["train.py", "kit/__init__.py", "kit/fs.py"], "train.py", "kit.fs", 0, "kit/fs.py"),
    "a namespace package": (["train.py", "kit/deep/fs.py"], "train.py", "kit.deep.fs", 0, "kit/deep/fs.py"),
    "from a folder below": (["scripts/train.py", "kit/fs.py"], "scripts/train.py", "kit.fs", 0, "kit/fs.py"),
    "the nearest wins": (["a/train.py", "a/util.py", "util.py"], "a/train.py", "util", 0, "a/util.py"),
    "src layout": (["train.py", "src/kit/__init__.py", "src/kit/fs.py"], "train.py", "kit.fs", 0, "src/kit/fs.py"),
    "one dot": (["kit/__init__.py", "kit/a.py", "kit/b.py"], "kit/a.py", "b", 1, "kit/b.py"),
    "one dot alone": (["kit/__init__.py", "kit/a.py"], "kit/a.py", "", 1, "kit/__init__.py"),
    "two dots": (["kit/__init__.py", "kit/x/__init__.py", "kit/x/a.py", "kit/b.py"], "kit/x/a.py", "b", 2, "kit/b.py"),
    "dots from a package": (["kit/__init__.py", "kit/b.py"], "kit/__init__.py", "b", 1, "kit/b.py"),
    "the root is the package": (["__init__.py", "a.py", "b.py"], "a.py", "anyname.b", 0, "b.py"),
    "a package before a file": (["train.py", "kit.py", "kit/__init__.py"], "train.py", "kit", 0, "kit/__init__.py"),
    "the nearest of two": (
        ["a/run/train.py", "a/src/kit/fs.py", "b/src/kit/fs.py"], "a/run/train.py", "kit.fs", 0, None,
    ),
    "the nearest of two packages": (
        ["a/run/train.py", "a/src/kit/__init__.py", "b/src/kit/__init__.py"], "a/run/train.py", "kit", 0,
        "a/src/kit/__init__.py",
    ),
    "no such file": (["train.py"], "train.py", "nowhere", 0, None),
    "the standard library": (["train.py", "json.py"], "train.py", "json", 0, None),
    "never torch": (["train.py", "torch.py"], "train.py", "torch", 0, None),
    "two candidates": (["train.py", "a/kit/__init__.py", "b/kit/__init__.py"], "train.py", "kit", 0, None),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_resolving(name: str, tmp_path: Path) -> None:
    files, importer, wanted, level, expected = LAYOUTS[name]
    made = project(dict.fromkeys(files, ""), tmp_path)
    found = made.resolve(str(tmp_path / importer), wanted, level)
    assert found == (str(tmp_path / expected) if expected else None)


@pytest.mark.parametrize(("name", "level"), [("secret", 3), ("", 30)])
def test_nothing_outside_the_root_is_read(name: str, level: int, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("")
    made = project({"top/a/b.py": ""}, tmp_path)
    inner = Project(tmp_path / "top")
    inner.files = made.files
    assert inner.resolve(made.files[0], name, level) is None


IMPORTS = {
    "a name": ("from util import shard", "shard", {"util.py": HELPER}),
    "another name": ("from util import shard as apply", "apply", {"util.py": HELPER}),
    "a module": ("import util", "util.shard", {"util.py": HELPER}),
    "a module by another name": ("import kit.util as u", "u.shard", {"kit/util.py": HELPER}),
    "a dotted module": ("import kit.util", "kit.util.shard", {"kit/__init__.py": "", "kit/util.py": HELPER}),
    "a module from a package": ("from kit import util", "util.shard", {"kit/__init__.py": "", "kit/util.py": HELPER}),
    "a re-export": (
        "from kit import shard", "shard", {"kit/__init__.py": "from .util import shard\n", "kit/util.py": HELPER},
    ),
    "a chain of re-exports": (
        "from kit import shard", "shard",
        {"kit/__init__.py": "from .a import shard", "kit/a.py": "from kit.b import do as shard",
         "kit/b.py": HELPER.replace("def shard", "def do")},
    ),
    "a star": ("from util import *", "shard", {"util.py": HELPER}),
    "a star through a package": (
        "from kit import *", "shard", {"kit/__init__.py": "from .util import *\n", "kit/util.py": HELPER},
    ),
    "fully_shard by re-export": ("from kit import fully_shard", "fully_shard", {"kit/__init__.py": SHARD}),
    "fully_shard by star": ("from compat import *", "fully_shard", {"compat.py": SHARD}),
    "fully_shard by a star from torch": ("from torch.distributed.fsdp import *", "fully_shard", {}),
    "fully_shard as an attribute": ("import torch.distributed.fsdp as F", "F.fully_shard", {}),
    "a module in the middle of a circle": (
        "from a import shard", "shard",
        {"a.py": "from b import helper\n" + HELPER, "b.py": "from a import shard\ndef helper(): return shard\n"},
    ),
    "a namespace package": ("from kit.deep import util", "util.shard", {"kit/deep/util.py": HELPER}),
    "in a function of the file": (
        "from util import shard", "shard",
        {"util.py": "def shard(model):\n    from torch.distributed.fsdp import fully_shard\n    fully_shard(model)\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPORTS)
def test_helpers_are_followed_through(name: str) -> None:
    imports, call, files = IMPORTS[name]
    assert analyse({"train.py": MAIN.format(imports=imports, call=call), **files}).codes == ["FSDP601"]


NOT_TORCH = {
    "a local function": ("def fully_shard(model): return model", "fully_shard", {}),
    "another package": ("from megatron_fsdp import fully_shard", "fully_shard", {}),
    "a method": ("class A:\n    def fully_shard(self, m): pass\na = A()", "a.fully_shard", {}),
    "a file named like one of the library": (
        "from json import fully_shard", "fully_shard", {"json.py": SHARD},
    ),
    "a neighbour of that name": (
        "from api import fully_shard", "fully_shard", {"api.py": "def fully_shard(m): pass\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_TORCH)
def test_names_are_resolved_by_import_and_never_by_spelling(name: str) -> None:
    imports, call, files = NOT_TORCH[name]
    assert analyse({"train.py": MAIN.format(imports=imports, call=call), **files}).codes == []


def test_a_broken_file_is_a_problem_and_its_users_are_still_checked() -> None:
    text = MAIN.format(imports=f"import broken\n{SHARD}", call="fully_shard")
    seen = analyse({"train.py": text, "broken.py": SHARD + "def (:\n"})
    assert seen.codes == ["FSDP601"]
    (problem,) = seen.result.problems
    assert problem.path.endswith("broken.py") and problem.row == 2 and "syntax error" in problem.message


GOOD_BYTES = {
    "byte order mark": "﻿x = 'é'\n".encode(),
    "latin-1 cookie": b"# coding: latin-1\nx = '\xe9'\n",
    "carriage returns": b"x = 1\rfrom a import b\r",
    "form feed": b"\x0cx = 1\n",
    "no last line end": b"x = 1",
}
BAD_BYTES = {
    "latin-1 without a cookie": b"x = '\xe9'\n",
    "unknown cookie": b"# coding: klingon\nx = 1\n",
    "utf-16": "x = 1\n".encode("utf-16"),
    "null bytes": b"x = 1\0\n",
    "syntax": b"x = (\n",
    "nesting": b"x = " + b"(" * 5000,
}


@pytest.mark.parametrize("name", GOOD_BYTES)
def test_readable_files(name: str) -> None:
    assert parse("x.py", GOOD_BYTES[name]).body


@pytest.mark.parametrize("name", BAD_BYTES)
def test_unreadable_files(name: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse("x.py", BAD_BYTES[name])
    assert caught.value.path == "x.py" and caught.value.row >= 1 and caught.value.reason


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    made = Project(tmp_path)
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "large.py").write_bytes(b"#" * 5_000_000)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    for name in ("folder.py", "large.py", "dangling.py", "loop.py", "missing.py"):
        assert made.module(str(tmp_path / name)) is None
        assert str(tmp_path / name) in made.unreadable
    assert made.resolve(str(tmp_path / "train.py"), "dangling") is None


def test_a_linked_file_is_followed(tmp_path: Path) -> None:
    made = project({"train.py": "", "shared/util.py": "x = 1\n"}, tmp_path)
    (tmp_path / "util.py").symlink_to(tmp_path / "shared/util.py")
    found = made.resolve(str(tmp_path / "train.py"), "util")
    module = made.module(found) if found else None
    assert module is not None and "x" in module.bindings


def test_bindings_of_a_module(tmp_path: Path) -> None:
    text = (
        "import a.b, c as d\nfrom e import f as g\nfrom h import *\nx = y = 1\n(p, q), *r = z\nn: int = 1\n"
        "def fn(): inner = 1\nclass Cls: field = 1\n"
        "if a:\n    i = 1\nelse:\n    j = 1\ntry:\n    k = 1\nexcept E:\n    l = 1\nfinally:\n    m = 1\n"
        "with w:\n    o = 1\nfor s in t:\n    u = 1\n"
    )
    module = project({"m.py": text}, tmp_path).module(str(tmp_path / "m.py"))
    assert module is not None
    assert set(module.bindings) == set("a d g x y p q r n i j k l m o u".split()) | {"fn", "Cls"}
    assert len(module.stars) == 1
