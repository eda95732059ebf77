"""What torch has in which version: the table, the script that writes it, and what asks it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.static.frontend.torch_api import (
    absent,
    history_of_export,
    history_of_keyword,
    history_of_method,
    varying_keywords,
    varying_methods,
)
from fsdp2_lint.vocab.target import NEWEST, Version
from scripts import torch_api

TABLE = json.loads(torch_api.TABLE.read_text(encoding="utf-8"))


def test_the_installed_torch_is_as_the_table_says() -> None:
    torch = pytest.importorskip("torch")
    tree = Path(torch.__file__).parents[1]
    assert torch_api.surface(tree) == torch_api.at(TABLE, torch_api.version_of(tree))


def test_the_table_knows_the_newest_torch() -> None:
    versions = {torch_api.number(since) for names in TABLE.values() for rows in names.values() for since, _ in rows}
    assert max(versions) == NEWEST
    assert torch_api.text(TABLE) == torch_api.TABLE.read_text(encoding="utf-8")


OLD = {
    "version.txt": "2.6.0a0\n",
    "torch/distributed/fsdp/__init__.py": "from ._fully_shard import Handle, fully_shard\n"
    "from .fully_sharded_data_parallel import FullyShardedDataParallel\n__all__ = ['Handle', 'fully_shard']\n",
    "torch/distributed/fsdp/_fully_shard.py": "class Handle:\n    def __init__(self, a, *, b=0): ...\n"
    "    def wait(self, seconds): ...\n    def _private(self): ...\ndef fully_shard(module, *, mesh=None, **_): ...\n",
}
NEW = {
    "torch/version.py": "__version__ = '2.7.1+cpu'\n",
    "torch/distributed/fsdp/__init__.py": "from ._new.api import fully_shard as fully_shard\n"
    "if True:\n    def extra(*args): ...\n",
    "torch/distributed/fsdp/_new/api.py": "from ..impl import fully_shard\n",
    "torch/distributed/fsdp/impl.py": "@overload\ndef fully_shard(module): ...\ndef fully_shard(module, mesh): ...\n",
}


def test_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_api, "TABLE", tmp_path / "table.json")
    for name, files in (("old", OLD), ("new", NEW)):
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
        torch_api.main([str(tmp_path / name)])  # one after the other: what is known stays
    table = json.loads((tmp_path / "table.json").read_text())
    fsdp = "torch.distributed.fsdp"
    assert table["modules"][fsdp] == [["2.6", ["Handle", "fully_shard"]], ["2.7", ["extra", "fully_shard"]]]
    assert table["callables"] == {
        f"{fsdp}.Handle": [["2.6", ["a", "b"]], ["2.7", None]],
        f"{fsdp}.Handle.wait": [["2.6", ["seconds"]], ["2.7", None]],
        f"{fsdp}.extra": [["2.7", ["*"]]],
        f"{fsdp}.fully_shard": [["2.6", ["module", "mesh", "**"]], ["2.7", ["module", "mesh"]]],
    }


@pytest.mark.parametrize(
    ("version", "words"),
    [((2, 4), "it came with torch 2.7"), ((2, 6), "it came with torch 2.7"), ((2, 7), ""), ((9, 0), "")],
)
def test_a_keyword_that_came(version: Version, words: str) -> None:
    assert absent(history_of_keyword("torch.distributed.fsdp.fully_shard", "ignored_params"), version) == words


def test_what_varies() -> None:
    assert "ignored_params" in varying_keywords()["torch.distributed.fsdp.fully_shard"]
    assert "mesh" not in varying_keywords()["torch.distributed.fsdp.fully_shard"]
    assert "set_reshard_after_forward" in varying_methods() and "unshard" not in varying_methods()
    assert absent(history_of_method("set_reshard_after_forward"), (2, 7)) == "it came with torch 2.8"
    exported = history_of_export("torch.distributed.fsdp", "fully_shard")
    assert exported is not None and absent(exported, (2, 5)) == "it came with torch 2.6"
    assert history_of_export("torch.distributed.fsdp", "FullyShardedDataParallel") is None
    assert absent([((2, 5), True), ((2, 9), False)], (2, 10)) == "it is gone since torch 2.9"


def test_a_part_of_a_project_may_ask_for_a_newer_torch(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["torch==2.4.1"]\n')
    (tmp_path / "fsdp").mkdir()
    (tmp_path / "fsdp" / "requirements.txt").write_text("torch>=2.8\n")
    for folder in (tmp_path, tmp_path / "fsdp"):
        (folder / "train.py").write_text("from torch.distributed.fsdp import fully_shard\n")
    found = [Path(each.primary.site.path) for each in lint([str(tmp_path)], Asked(select=["FSDP906"])).findings]
    assert found == [tmp_path.resolve() / "train.py"]


PROGRAM = """\
import argparse
import inspect
import torch
from packaging.version import parse
from torch.distributed.fsdp import FSDPModule, fully_shard
try:
    from torch.distributed.fsdp import share_comm_ctx
    SHARES = True
except ImportError:
    SHARES = False
HAS = hasattr(FSDPModule, "set_reshard_after_forward")

def new():
    return parse(torch.__version__) >= parse("2.8")

def kind_of(model):
    return getattr(model, "kind", "own")

model = torch.nn.Linear(2, 2)
kind = kind_of(model)
parser = argparse.ArgumentParser()
parser.add_argument("--kind")
settings = parser.parse_args()
kwargs = {}
%s
"""
CALL = "fully_shard(model, **kwargs)"
SETTER = "model.set_reshard_after_forward(True)"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"kwargs['ignored_params'] = set()\n{CALL}", True),
        (f"if new():\n    kwargs['ignored_params'] = set()\n{CALL}", False),
        (f"if new():\n    kwargs.update(ignored_params=set())\n{CALL}", False),
        ("if new():\n    fully_shard(model, ignored_params=set())", False),
        ("if SHARES:\n    fully_shard(model, ignored_params=set())", False),
        ("try:\n    fully_shard(model, ignored_params=set())\nexcept TypeError:\n    pass", False),
        (f"{CALL}\n{SETTER}", True),
        (f"{CALL}\nif HAS:\n    {SETTER}", False),
        (f"{CALL}\nif hasattr(model, 'set_reshard_after_forward'):\n    {SETTER}", False),
        (f"{CALL}\ndef switch(m):\n    m.set_reshard_after_forward(True)\nif new():\n    switch(model)", False),
        (f"{CALL}\ndef switch(m):\n    m.set_reshard_after_forward(True)\nswitch(model)", True),
        ("model.set_reshard_after_forward(True)\nfully_shard", False),
        ("if settings.kind == 'own':\n    fully_shard(model, ignored_params=set())", True),
        ("own = settings.kind.lower() == 'own'\nif own:\n    fully_shard(model, ignored_params=set())", True),
        ("recent = new()\nif recent:\n    fully_shard(model, ignored_params=set())", False),
    ],
)
def test_what_is_asked_before_does_not_count(tmp_path: Path, body: str, found: bool) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(PROGRAM % body)
    codes = [each.code for each in lint([str(tmp_path)], Asked(select=["FSDP906"], target=(2, 6))).findings]
    assert codes == (["FSDP906"] if found else [])
