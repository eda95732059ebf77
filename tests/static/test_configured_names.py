"""What configuration files of the project name is built: each fault behind it is found, and no other is excluded."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.files.configurations import names_in
from fsdp2_lint.static.check import check
from fsdp2_lint.static.result import Request, Result

from .program import HEAD, NET

NETS = f"import torch\nimport torch.nn as nn\n\n\n{NET}"
TRAIN = (
    HEAD
    + """\
import importlib
import pydoc
import sys
import hydra
import yaml


{make}


def train(model, optimizer):
    {first}
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    for _ in range(10):
        {call}(torch.ones(2, 8, dtype=torch.long)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


{main}


if __name__ == "__main__":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    main()
"""
)
LOADED = """
def main():
    with open(sys.argv[1]) as file:
        cfg = {load}
    model = {build}
    train(model, torch.optim.AdamW(model.parameters()))
"""
BY_PARTS = """
def make(target):
    package, name = target.rsplit(".", 1)
    return getattr(importlib.import_module(package), name)
"""
IN_ONE = """
def make(target):
    return pydoc.locate(target)
"""
FILLED_IN = """
def filled_in(value):
    if isinstance(value, dict):
        return {key: filled_in(below) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(filled_in(below) for below in value)
    if isinstance(value, str):
        return os.path.expandvars(value)
    return value


def load(file):
    found = yaml.safe_load(file)
    if found is None:
        found = {}
    return filled_in(found)
"""
HYDRA = """
@hydra.main(version_base=None, config_path="configs", config_name="train")
def main(cfg):
    model = hydra.utils.instantiate(cfg.model)
    train(model, hydra.utils.instantiate(cfg.optimizer, params=model.parameters()))
"""
HOLDER = """

class Holder(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.layers = net.layers

    def forward(self, x):
        return self.net(x)
"""
RUN = "model:\n  net:\n    target: nets.Net  # of ours\n    sizes: {dim: 8}\n"
OPTIMIZER = "optimizer:\n  _target_: torch.optim.AdamW\n  lr: 1e-3\n"


def loaded(make: str, build: str, load: str = "yaml.safe_load(file)") -> str:
    main = LOADED.format(load=load, build=build)
    return TRAIN.format(make=make, main=main, first="pass", call="model.forward")


def analysed(folder: Path, files: dict[str, str]) -> Result:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    code = sorted(str(folder / name) for name in files if name.endswith(".py"))
    result = check(Request(files=code, root=str(folder), rules=registry.rules()))
    assert not result.broken, result.broken
    return result


def told(result: Result) -> set[str]:
    """What is found of the model whose class is known."""
    known = [clause for model in result.models if model.label == "Net" for clause in model.rules]
    return {clause.code for clause in known if clause.word == "violated"}


@pytest.mark.parametrize(
    ("train", "name", "text"),
    [
        (loaded(BY_PARTS, 'make(cfg["model"]["net"]["target"])()'), "run.yaml", RUN),
        (loaded(BY_PARTS, 'make(cfg["model"].get("net").get("target"))()'), "configs/deep/run.yml", RUN),
        (loaded(IN_ONE, 'make(cfg["net"]["target"])()'), "run.json", '{"net": {"target": "nets.Net"}}'),
        (loaded(BY_PARTS + FILLED_IN, 'make(cfg["model"]["net"]["target"])()', "load(file)"), "run.yaml", RUN),
        (loaded(BY_PARTS, 'make(cfg["nets"][0]["target"])()'), "run.yaml", "nets:\n- target: nets.Net\n"),
        (loaded(BY_PARTS, 'make(cfg["other"]["target"])()'), "run.yaml", RUN),
    ],
    ids=["parts", "get", "located", "filled in", "of a list", "other keys"],
)  # fmt: skip
def test_by_its_name(train: str, name: str, text: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found = told(analysed(tmp_path, {"train.py": train, "nets.py": NETS, name: text}))
    assert found == (set() if "other keys" in request.node.name else {"FSDP401", "FSDP601"})


def test_without_a_file_nothing_is_known(tmp_path: Path) -> None:
    train = loaded(BY_PARTS, 'make(cfg["model"]["net"]["target"])()')
    assert not told(analysed(tmp_path, {"train.py": train, "nets.py": NETS}))


def test_another_file_may_be_given(tmp_path: Path) -> None:
    """What is right for the class that is named is not upheld: a run may name another."""
    main = LOADED.format(load="yaml.safe_load(file)", build='make(cfg["model"]["net"]["target"])()')
    train = TRAIN.format(make=BY_PARTS, main=main, first="pass", call="model")
    result = analysed(tmp_path, {"train.py": train, "nets.py": NETS, "run.yaml": RUN})
    said = [clause for each in (*result.models, *result.followed) for clause in each.rules if clause.code[4] != "9"]
    assert said and not any(clause.word == "upheld" for clause in said)
    assert any("a run may name other classes" in reason for clause in said for reason in clause.reasons)


CALLBACKS = """
class Off:
    def before(self, model):
        model.set_requires_gradient_sync(False)


class On:
    def before(self, model):
        model.set_requires_gradient_sync(True)
"""


def test_each_element_of_a_list_has_its_own_name(tmp_path: Path) -> None:
    """One call goes through all of them: that it builds one says nothing against another."""
    main = HYDRA.replace(
        "train(model", "callbacks = [hydra.utils.instantiate(each) for each in cfg.callbacks]\n    train(model"
    )
    first = "for each in callbacks:\n        each.before(model)"
    train = TRAIN.format(
        make="callbacks = []", main=main.replace("callbacks =", "callbacks[:] ="), first=first, call="model"
    )
    listed = "callbacks:\n  - _target_: nets.Off\n  - _target_: nets.On\n"
    files = {
        "train.py": train,
        "nets.py": NETS + CALLBACKS,
        "run.yaml": f"{OPTIMIZER}model:\n  _target_: nets.Net\n{listed}",
    }
    assert "FSDP604" not in told(analysed(tmp_path, files))


@pytest.mark.parametrize("group", [False, True], ids=["one file", "a group"])
def test_hydra(group: bool, tmp_path: Path) -> None:
    train = TRAIN.format(make="", main=HYDRA, first="pass", call="model.forward")
    model = "_target_: nets.Net\n"
    files = {"configs/train.yaml": OPTIMIZER, "configs/model/small.yaml": model}
    if not group:
        files = {"configs/train.yaml": f"{OPTIMIZER}model:\n  {model}"}
    assert {"FSDP401", "FSDP601"} == told(analysed(tmp_path, {"train.py": train, "nets.py": NETS, **files}))


def test_what_is_named_inside_is_given(tmp_path: Path) -> None:
    """Hydra builds what is named below first, and hands it over."""
    train = TRAIN.format(make="", main=HYDRA, first="pass", call="model.net.forward")
    model = "model:\n  _target_: nets.Holder\n  net:\n    _target_: nets.Net\n"
    files = {"train.py": train, "nets.py": NETS + HOLDER, "run.yaml": OPTIMIZER + model}
    found = [each.message for each in analysed(tmp_path, files).findings if each.code == "FSDP601"]
    assert found and "Holder" in found[0]


def test_what_is_built_in_part_is_not_called(tmp_path: Path) -> None:
    train = TRAIN.format(make="", main=HYDRA, first="pass", call="model.forward")
    model = "model:\n  _target_: nets.Net\n  _partial_: true\n"
    files = {"train.py": train, "nets.py": NETS, "run.yaml": OPTIMIZER + model}
    assert not told(analysed(tmp_path, files))


TEXT = """\
---
a: &anchor
  "b": 'one.two'   # why
  c: [x.y]
  text: |
    d: three.four

    e: five.six
  f:
  - g: seven.eight
    h: no_dots
  - g: nine.ten
i.j: eleven.twelve
k: http://x.y
l: 1.5
"""


def test_what_is_read_of_yaml(tmp_path: Path) -> None:
    path = tmp_path / "conf" / "run.yaml"
    path.parent.mkdir()
    path.write_text(TEXT)
    assert names_in(str(path), str(tmp_path)) == [
        (("conf", "a", "b"), "one.two"),
        (("conf", "a", "f", "g"), "seven.eight"),
        (("conf", "a", "f", "g"), "nine.ten"),
        (("conf", "i.j"), "eleven.twelve"),
    ]


def test_what_stands_under_no_key_is_no_name(tmp_path: Path) -> None:
    """Such as a list of files at the root of a project."""
    train = TRAIN.format(make="", main=HYDRA, first="pass", call="model.forward")
    model = "model:\n  _target_: nets.Net\n"
    files = {"train.py": train, "nets.py": NETS, "run.yaml": OPTIMIZER + model, "shards.json": '["a.b", true]'}
    assert told(analysed(tmp_path, files)) == {"FSDP401", "FSDP601"}
    assert names_in(str(tmp_path / "shards.json"), str(tmp_path)) == []


@pytest.mark.parametrize("data", [b"\xff\xfe a: b.c", b"[" * 100_000, b"a: b.c\n" * 100_000, b"a\0: b.c", b"{"])
def test_what_cannot_be_read_names_nothing(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(data)
    assert names_in(str(path), str(tmp_path)) == []
    assert names_in(str(tmp_path / "gone.yaml"), str(tmp_path)) == []


def test_of_two_classes_neither_is_given_a_part(tmp_path: Path) -> None:
    """A class that does not take it would raise, and all behind it would be dead."""
    train = TRAIN.format(make="", main=HYDRA, first="pass", call="model.forward")
    files = {
        "train.py": train,
        "nets.py": NETS + HOLDER,
        "configs/train.yaml": OPTIMIZER,
        "configs/model/plain.yaml": "_target_: nets.Net\n",
        "configs/model/held.yaml": "_target_: nets.Holder\nnet:\n  _target_: nets.Net\n",
    }
    assert "FSDP601" in told(analysed(tmp_path, files))


@pytest.mark.parametrize(("asked", "found"), [('SETTINGS["meta"]', set()), ("True", {"FSDP201"})])
def test_a_class_and_a_setting_that_no_file_has_together(asked: str, found: set[str], tmp_path: Path) -> None:
    """The net may be one that no configuration puts on the meta device."""
    emptied = f"SETTINGS = {{}}\n\n\ndef emptied(model):\n    if {asked}:\n        model.to_empty(device='cuda')\n"
    built = 'make(cfg["model"]["net"]["target"])()'
    main = LOADED.format(load="yaml.safe_load(file)", build=built)
    main = main.replace("    model = ", "    SETTINGS.update(cfg['model'])\n    model = ", 1)
    main = main.replace("    train(model", "    emptied(model)\n    train(model", 1)
    train = TRAIN.format(make=BY_PARTS + emptied, main=main, first="pass", call="model")
    result = analysed(tmp_path, {"train.py": train, "nets.py": NETS, "run.yaml": RUN})
    assert told(result) & {"FSDP201"} == found
