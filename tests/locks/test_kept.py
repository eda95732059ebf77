"""What was kept of single programs is what would be seen of them now, whatever was edited in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static import workers
from fsdp2_lint.static.cache.store import Store
from fsdp2_lint.static.check import check
from fsdp2_lint.static.request import Request
from fsdp2_lint.static.result import Rests, Result
from tests.locks.programs import ROOT, Program, daily, planted, projects


def result(files: dict[str, str], store: Store | None = None) -> Result:
    overlay = {f"{ROOT}/{name}": text.encode() for name, text in files.items()}
    found = check(Request(files=sorted(overlay), root=ROOT, overlay=overlay, rules=registry.rules()), store=store)
    assert not found.broken
    return replace(found, texts={}, rests=Rests())


def edits(project: Program) -> Iterator[dict[str, str]]:
    """A few planted faults, one after the other; a file that does not parse; and what changes no meaning."""
    yield dict(project.files)
    for each in [each for each in planted() if each.folder == project.folder][::5]:
        yield dict(each.files)
    last = max(project.files, key=lambda name: len(project.files[name]))
    yield {**project.files, last: f"# moved down by a line\n{project.files[last]}"}
    yield {**project.files, last: "def (:\n"}
    yield dict(project.files)


@pytest.mark.parametrize("project", daily(projects(), 0.5))
def test_what_is_kept_is_what_would_be_seen(project: Program, tmp_path: Path) -> None:
    store = Store(tmp_path)
    for files in edits(project):
        assert result(files, store) == result(files)


TWO = {
    "one.py": "from torch.distributed.fsdp import fully_shard\nfrom common import Net\nfully_shard(Net())\n",
    "two.py": "from torch.distributed.fsdp import fully_shard\nfrom torch import nn\nfully_shard(nn.Linear(8, 8))\n",
    "common.py": "from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n",
    "data.py": "SIZE = 3\n",
}


NET = "from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n\n\n"
MADE = "from torch.distributed.fsdp import fully_shard\nfrom models import make\nfully_shard(make())\n"
REGISTRY = {
    "script.py": MADE,
    "models.py": NET + "MODELS = {'net': Net}\n\n\ndef make():\n    return MODELS['net']()\n",
    "looks.py": "from models import Net\nprint(Net)\n",
    "enters.py": "from models import MODELS\nMODELS['list'] = list\n",
}
DISPATCHED = {
    "script.py": MADE,
    "models.py": "from functools import singledispatch\n"
    + NET
    + "@singledispatch\ndef build(size):\n    return Net()\n\n\ndef make():\n    return build(8)\n",
    "looks.py": "from models import Net\nprint(Net)\n",
    "enters.py": "from models import build\n\n\n@build.register\ndef of_text(size: str):\n    return None\n",
}
SUBCLASSED = {
    "script.py": MADE,
    "models.py": NET + "class Base:\n    known = {'net': Net}\n\n"
    "    def __init_subclass__(cls):\n        Base.known[cls.__name__] = cls\n"
    "\n\ndef make():\n    return Base.known['net']()\n",
    "looks.py": "from models import Net\nprint(Net)\n",
    "enters.py": "from models import Base\n\n\nclass Other(Base):\n    pass\n",
}


@pytest.mark.parametrize("files", [REGISTRY, DISPATCHED, SUBCLASSED], ids=["registry", "dispatched", "subclassed"])
def test_who_enters_nothing_into_a_table_does_not_matter_to_it(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole run after an edit of any file that imports a registry followed all programs that look into it."""
    more = files["enters.py"].partition("\n")[0] + "\n"
    for name, text, expected in [
        ("looks.py", files["looks.py"] + "print(8)\n", []),
        ("looks.py", files["enters.py"], ["script.py"]),
        ("enters.py", files["enters.py"] + "\n", ["script.py"]),
        ("enters.py", more, ["script.py"]),
        ("new.py", files["enters.py"], ["script.py"]),
        ("new.py", files["looks.py"], []),
    ]:
        assert followed({**files, name: text}, files, Store(tmp_path / f"{name}{len(text)}"), monkeypatch) == expected


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({}, []),
        ({"data.py": "SIZE = 4\n"}, []),
        ({"two.py": TWO["two.py"] + "\n"}, ["two.py"]),
        ({"one.py": "\n" + TWO["one.py"]}, ["one.py"]),
        ({"common.py": TWO["common.py"] + "\n"}, ["one.py"]),
        ({"torch/__init__.py": ""}, []),
        ({"three.py": TWO["two.py"]}, ["three.py"]),
    ],
)
def test_only_what_reads_an_edited_file_is_followed_again(
    edit: dict[str, str], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert followed({**TWO, **edit}, TWO, Store(tmp_path), monkeypatch) == expected


def followed(files: dict[str, str], before: dict[str, str], store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that have to be followed again, where what was seen of the files as they were is kept."""
    result(before, store)
    noted: list[str] = []
    really = workers.follow

    def note(project: object, rules: object, entry: workers.Entry, *rest: object, **more: object) -> object:
        noted.append(entry.name.removeprefix(f"{ROOT}/"))
        return really(project, rules, entry, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "follow", note)
    kept = result(files, store)
    monkeypatch.setattr(workers, "follow", really)
    assert kept == result(files)
    return noted
