"""Commits of a scratch repository, stopped by pre-commit itself with the hook that the README shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.static import workers
from fsdp2_lint.static.cache.store import FOLDER, Store
from fsdp2_lint.static.following import Followed, follow

yaml = pytest.importorskip("yaml")
pytest.importorskip("pre_commit")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "*.egg-info", "build", "dist", "__pycache__", ".*_cache", "tests", FOLDER
)
# Two scripts; only one of them takes metrics.py and ranks.py.
PROJECT = {
    "pyproject.toml": "[project]\nname = 'job'\n",
    "llm/__init__.py": "",
    "llm/model.py": """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x).relu()
        return self.head(x)
""",
    "llm/parallel.py": """\
from torch.distributed.fsdp import fully_shard


def parallelize(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
""",
    "llm/ranks.py": """\
import torch.distributed as dist


def should_measure(step):
    return step % 10 == 0
""",
    "llm/metrics.py": """\
import torch.distributed as dist


def weight_norm(model):
    norm = model.head.weight.full_tensor().norm()
    if dist.get_rank() == 0:
        print(norm.item())
""",
    "train.py": """\
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from llm.metrics import weight_norm
from llm.model import Net
from llm.parallel import parallelize
from llm.ranks import should_measure


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net().cuda()
    parallelize(model, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(100):
        loss = model(torch.randn(8, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if should_measure(step):
            weight_norm(model)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
""",
    "evaluate.py": """\
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from llm.model import Net
from llm.parallel import parallelize

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(0)
model = Net().cuda()
parallelize(model, init_device_mesh("cuda", (dist.get_world_size(),)))
with torch.no_grad():
    print(model(torch.randn(8, 64, device="cuda")).shape)
dist.destroy_process_group()
""",
}


@dataclass(frozen=True)
class Fault:
    """One edit of one file, where it shows, and the programs that have to be followed anew for it."""

    file: str
    before: str
    after: str
    code: str
    shown: str
    programs: tuple[str, ...] = ("train.py",)


OPTIMIZER = "    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
PRINTS = "    norm = model.head.weight.full_tensor().norm()\n    if dist.get_rank() == 0:\n        print(norm.item())\n"
GUARDED = "    if dist.get_rank() == 0:\n        print(model.head.weight.full_tensor().norm().item())\n"
FAULTS = {
    "in the entry script": Fault(
        "train.py",
        f"    parallelize(model, mesh)\n{OPTIMIZER}",
        f"{OPTIMIZER}    parallelize(model, mesh)\n",
        "FSDP601",
        "train.py",
    ),
    "in a helper": Fault("llm/metrics.py", PRINTS, GUARDED, "FSDP801", "llm/metrics.py"),
    "in a caller of the helper": Fault(
        "llm/ranks.py", "step % 10 == 0", "step % 10 == 0 and dist.get_rank() == 0", "FSDP801", "train.py"
    ),
    "in a helper of both scripts": Fault(
        "llm/parallel.py",
        "    fully_shard(model, mesh=mesh)\n",
        "",
        "FSDP303",
        "llm/parallel.py",
        ("evaluate.py", "train.py"),
    ),
}


def run(*command: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "FORCE_COLOR")
    kept = {name: value for name, value in os.environ.items() if name not in ours and not name.startswith("GIT_")}
    said = subprocess.PIPE, subprocess.STDOUT
    words = [str(part) for part in command]
    return subprocess.run(words, cwd=cwd, env={**kept, **more}, text=True, stdout=said[0], stderr=said[1], timeout=300)


def git(*arguments: object, cwd: Path, **more: str) -> str:
    ran = run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments, cwd=cwd, **more)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout.strip()


@dataclass(frozen=True)
class Repository:
    """A project whose commits go through pre-commit."""

    folder: Path
    environment: dict[str, str]

    def install(self, settings: dict[str, Any]) -> None:
        self.write({".pre-commit-config.yaml": yaml.safe_dump(settings), **PROJECT})
        git("init", "--quiet", cwd=self.folder)
        ran = run(sys.executable, "-m", "pre_commit", "install", cwd=self.folder, **self.environment)
        assert ran.returncode == 0, ran.stdout

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    def commit(self, *files: str) -> tuple[bool, str]:
        """Does it go through, and what is said."""
        git("add", *files, cwd=self.folder)
        person = {f"GIT_{who}_{what}": "t@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        ran = run("git", "commit", "--message", "a change", cwd=self.folder, **self.environment, **person)
        return ran.returncode == 0, ran.stdout


def shown_in_the_readme() -> dict[str, Any]:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## pre-commit\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    settings: dict[str, Any] = yaml.safe_load(block)
    return settings


def of_this_checkout(settings: dict[str, Any]) -> dict[str, Any]:
    """The same hooks without an environment of their own: what the checkout's file says of them, run as it is here."""
    known = {each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    (repo,) = settings["repos"]
    hooks = [{**known[each["id"]], **each, "language": "system"} for each in repo["hooks"]]
    for hook in hooks:
        del hook["minimum_pre_commit_version"]
        program, _, rest = hook["entry"].partition(" ")
        assert program == "fsdp2-lint"
        hook["entry"] = f"{sys.executable} -m fsdp2_lint {rest}"
    return {"repos": [{"repo": "local", "hooks": hooks}]}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "job").mkdir()
    return Repository(tmp_path / "job", {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)})


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], list[str]]:
    """Which programs a check of a project has to follow that keeps nothing of what it sees."""
    names: list[str] = []

    def noted(*arguments: Any, **more: Any) -> Followed:
        names.append(arguments[2].name)
        return follow(*arguments, **more)

    def check(project: Path) -> list[str]:
        names.clear()
        lint([str(project)], Asked(cache=True))
        return [Path(name).name for name in names]

    monkeypatch.setattr(workers, "follow", noted)
    monkeypatch.setattr(Store, "put", lambda store, key, data: None)
    return check


@pytest.mark.slow  # pre-commit installs the hook
def test_a_fault_is_stopped_at_the_commit(repository: Repository, followed: Callable[[Path], list[str]]) -> None:
    repository.install(of_this_checkout(shown_in_the_readme()))
    passed, said = repository.commit(".")
    assert passed, said
    assert followed(repository.folder) == [], "the commit has left all that was seen"
    for where, fault in FAULTS.items():
        text = PROJECT[fault.file]
        assert fault.before in text
        repository.write({fault.file: text.replace(fault.before, fault.after)})
        assert followed(repository.folder) == [*fault.programs], where
        passed, said = repository.commit(fault.file)
        found = re.findall(rf"^{fault.code} error .*\n *--> (\S+?):", said, re.MULTILINE)
        assert not passed and found == [fault.shown], f"{where}: {said}"
        repository.write({fault.file: text})
    repository.write({"train.py": f"{PROJECT['train.py']}# right again\n"})
    passed, said = repository.commit("train.py", *(fault.file for fault in FAULTS.values()))
    assert passed, said


def test_what_has_nothing_to_do_with_it_is_not_waited_for(repository: Repository) -> None:
    repository.install(of_this_checkout(shown_in_the_readme()))
    repository.write({"notes.md": "x\n"})
    passed, said = repository.commit("notes.md", ".pre-commit-config.yaml")
    assert passed and "no files to check" in said, said


@pytest.mark.slow
def test_the_hook_for_changed_files_leaves_others_alone(repository: Repository) -> None:
    repository.install(of_this_checkout({"repos": [{"hooks": [{"id": "fsdp2-lint-files"}]}]}))
    fault = FAULTS["in a caller of the helper"]
    repository.write({fault.file: PROJECT[fault.file].replace(fault.before, fault.after)})
    passed, said = repository.commit(fault.file)
    assert passed, said
    passed, said = repository.commit("train.py")
    assert not passed and fault.code in said, said


@pytest.mark.slow
def test_the_hook_that_rehearses_the_scripts_of_the_settings(repository: Repository) -> None:
    pytest.importorskip("torch")
    repository.install(of_this_checkout({"repos": [{"hooks": [{"id": "fsdp2-lint-preflight"}]}]}))
    uneven = (ROOT / "tests" / "preflight" / "programs" / "uneven.py").read_text(encoding="utf-8")
    even = uneven.replace("9)", "8)").replace("(9,", "(8,")
    repository.write({"fsdp2-lint.toml": 'rehearsals = ["uneven.py"]\n', "uneven.py": even})
    passed, said = repository.commit(".")
    assert passed, said
    repository.write({"uneven.py": uneven})
    passed, said = repository.commit("uneven.py")
    assert not passed and "FSDP313 warning" in said and "uneven.py:15:5" in said, said


@pytest.mark.slow
def test_in_an_environment_of_its_own(tmp_path: Path, repository: Repository) -> None:
    """As for a user: pre-commit clones the repository that the README names and installs it."""
    source = Path(shutil.copytree(ROOT, tmp_path / "source", ignore=LEFT_OUT))
    git("init", "--quiet", cwd=source)
    git("add", "--all", cwd=source)
    git("commit", "--quiet", "--message", "all", cwd=source)
    settings = shown_in_the_readme()
    (repo,) = settings["repos"]
    repo.update(repo=str(source), rev=git("rev-parse", "HEAD", cwd=source))
    repository = Repository(repository.folder, {"PRE_COMMIT_HOME": str(tmp_path / "home")})
    repository.install(settings)
    passed, said = repository.commit(".")
    assert passed, said
    fault = FAULTS["in a caller of the helper"]
    repository.write({fault.file: PROJECT[fault.file].replace(fault.before, fault.after)})
    passed, said = repository.commit(fault.file)
    assert not passed and fault.code in said, said
