"""Each way to start a job, with real processes: who is which rank, and does the report have all of them?

Accelerate and Ray Train, which are not installed here, have ``test_launchers.py``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.folders import choose
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.outcome import JobReport
from fsdp2_lint.report.rank_file import rank_files, records
from tests.runtime.commands import HEAD, REPORT, STALE, Ran, command, job_folder

pytestmark = pytest.mark.torchrun

ROOT = Path(__file__).parents[2]
TOOL = (sys.executable, "-m", "fsdp2_lint")
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")

INIT = 'dist.init_process_group("gloo")\nrank = dist.get_rank()\n'
# Each rank trains on the same batch: only the comparison of ranks that know who they are can see it.
SAME_DATA = HEAD.replace("100 * step + rank", "100 * step") + (
    "model = shard(Net())\ntrain(model, torch.optim.SGD(model.parameters(), lr=0.1))\n"
)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
        return port


def start(folder: Path, *words: object, **variables: object) -> Ran:
    """A command in a process of its own that no launcher has told anything but ``variables``."""
    own = {key: value for key, value in os.environ.items() if key not in LAUNCHERS}
    own |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    own |= {key: str(value) for key, value in variables.items()}
    done = subprocess.run(
        [*TOOL, *map(str, words)], cwd=folder, env=own, capture_output=True, text=True, timeout=180, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def together(folder: Path, *ranks: dict[str, object], words: tuple[object, ...]) -> list[Ran]:
    """The same command once for each environment, at one time."""
    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(lambda own: start(folder, *words, **own), ranks))


def report(folder: Path) -> JobReport:
    return read_job(choose(folder / REPORT).folder, registry.rules())


def found(told: JobReport) -> dict[str, tuple[int, ...]]:
    return {each.code: each.observed.ranks for each in told.findings if each.observed is not None}


# Modules and code

PRINTS = """\
import sys
import os
from . import words
print([os.path.realpath(sys.argv[0]), *sys.argv[1:]], __name__, __package__, __spec__.name, words.SAID,
      os.path.realpath(sys.path[0]), sys.modules["__main__"].__dict__ is globals(), os.path.realpath(__file__))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    home = tmp_path / "pkg"
    home.mkdir()
    for name, text in (("__init__", ""), ("words", "SAID = 'said'\n"), ("train", PRINTS), ("__main__", PRINTS)):
        (home / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", ["pkg.train", "pkg", "pkg.__main__"])
def test_a_module_is_run_as_python_does(package: Path, name: str) -> None:
    arguments = ("-m", name, "--steps", "5", "-m", "-c", "--", "x")
    python = subprocess.run(
        [sys.executable, *arguments], cwd=package, capture_output=True, text=True, check=True, timeout=60
    )
    (ran,) = command(package, "run", "--check", *arguments, ranks=1)
    assert (ran.code, ran.out) == (3, python.stdout), ran.err
    (started, *_) = records(rank_files(job_folder(package))[0])
    assert (started["script"], started["arguments"]) == (f"-m {name}", list(arguments[2:]))


def test_code_is_run_as_python_does(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv, repr(sys.path[0]), __name__, '__file__' in globals())"
    python = subprocess.run(
        [sys.executable, "-c", code, "-c", "x"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    (ran,) = command(tmp_path, "run", "--check", "-c", code, "-c", "x", ranks=1)
    assert (ran.code, ran.out) == (3, python.stdout), ran.err


@pytest.mark.parametrize("name", ["nope", "pkg.nope", "pkg.words.nope", "pkg/train", "", ".train", "empty"])
def test_a_module_that_is_not_there(package: Path, name: str) -> None:
    (package / "empty").mkdir()
    (package / "empty" / "__init__.py").touch()
    (ran,) = command(package, "run", "--check", "-m", name, ranks=1)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1) and ran.err.startswith("error: "), ran.err


def test_what_a_module_needs_is_missing(package: Path) -> None:
    """That is a fault of the user's, and is shown as Python shows it."""
    (package / "pkg" / "__init__.py").write_text("import nope\n")
    (ran,) = command(package, "run", "--check", "-m", "pkg.train", ranks=1)
    assert ran.code == 1 and "ModuleNotFoundError: No module named 'nope'" in ran.err


def test_a_finding_in_a_module(package: Path) -> None:
    """Its stack begins in the module, and relative imports lead to the file that is named."""
    (package / "pkg" / "build.py").write_text(STALE)
    (package / "pkg" / "train.py").write_text("from . import build\n")
    ran = command(package, "run", "--check", "-m", "pkg.train")[0]
    assert ran.code == 1 and "--> pkg/build.py:46:13" in ran.out and "Found 1 error on 2 ranks" in ran.err
    assert "runtime/program.py" not in ran.out and "_module" not in ran.out


@pytest.mark.slow
def test_a_module_under_torchrun(package: Path) -> None:
    """With the real launcher, by the tool and by hand; the module's options stay its own."""
    (package / "pkg" / "build.py").write_text(STALE)
    (package / "pkg" / "train.py").write_text("import sys\nfrom . import build\nassert sys.argv[1:] == ['-m', 'x']\n")
    ran = start(package, "run", "--nproc-per-node", 2, "--check", "-m", "pkg.train", "-m", "x")
    assert (ran.code, "Found 1 error on 2 ranks" in ran.err) == (1, True), ran.err
    assert report(package).complete and found(report(package)) == {"FSDP601": (0, 1)}


# Ranks that the script starts

SPAWN = (
    SAME_DATA.replace(INIT, "")
    .replace("model = shard(Net())\ntrain(", "def work(rank, *given):\n    RUN")
    .replace(
        "    RUNmodel, torch.optim.SGD(model.parameters(), lr=0.1))\n",
        """\
    dist.init_process_group("gloo", init_method="tcp://localhost:" + sys.argv[1], rank=rank, world_size=2)
    model = shard(Net())
    train(model, torch.optim.SGD(model.parameters(), lr=0.1))
    dist.destroy_process_group()


def helper(number):
    print("helped", os.getpid() != number, flush=True)


if __name__ == "__main__":
    import multiprocessing
    import torch.multiprocessing as mp
    context = multiprocessing.get_context(sys.argv[2])
    aside = context.Process(target=helper, args=(os.getpid(),))
    aside.start()
    aside.join()
    if sys.argv[3] == "spawn":
        mp.start_processes(work, nprocs=2, start_method=sys.argv[2])
    else:
        ranks = [context.Process(target=work, args=(each,)) for each in range(2)]
        [each.start() for each in ranks]
        [each.join() for each in ranks]
""",
    )
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "how", "stale"),
    [
        pytest.param("spawn", "spawn", {}, marks=pytest.mark.slow),
        pytest.param("fork", "spawn", {}, marks=pytest.mark.slow),
        # PyTorchJob says this to each pod, whose script then starts its ranks.
        ("fork", "processes", {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "localhost", "MASTER_PORT": 1}),
        pytest.param(
            *("fork", "spawn", {"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost", "MASTER_PORT": 1}),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_ranks_that_the_script_starts(tmp_path: Path, method: str, how: str, stale: dict[str, object]) -> None:
    """They are watched too, and know who they are; a helper is left alone."""
    (tmp_path / "train.py").write_text(SPAWN)
    ran = start(tmp_path, "run", "--check", "train.py", free_port(), method, how, **stale)
    told = report(tmp_path)
    assert (ran.code, ran.out.startswith("helped True\n")) == (1, True), ran.err
    assert (told.ranks, told.world_size, told.complete, told.notes) == ((0, 1), 2, True, [])
    assert found(told) == {"FSDP808": (0, 1)} and "Found 1 error on 2 ranks" in ran.err
    assert len(rank_files(job_folder(tmp_path))) == 3  # who started them, and the two


@pytest.mark.slow
def test_a_rank_that_the_script_started_fails(tmp_path: Path) -> None:
    program = SPAWN.replace("    model = shard(Net())\n", "    model = fully_shard(shard(Net()))\n")
    (tmp_path / "train.py").write_text(program)
    ran = start(tmp_path, "run", "--check", "train.py", free_port(), "fork", "spawn")
    assert ran.code == 1 and "ProcessRaisedException" in ran.err
    assert {each.code for each in report(tmp_path).crashes} == {"FSDP305"} and "fsdp2-lint: FSDP305: " in ran.err


# Ranks that something else starts

SLURM = SAME_DATA.replace(
    INIT,
    'rank = int(os.environ["SLURM_PROCID"])\n'
    'dist.init_process_group("gloo", init_method="tcp://localhost:" + sys.argv[1], rank=rank, world_size=2)\n',
)


@pytest.mark.slow
def test_variables_of_slurm_alone(tmp_path: Path) -> None:
    """``srun`` starts the processes, and the script passes the rank on."""
    (tmp_path / "train.py").write_text(SLURM)
    step: dict[str, object] = {"SLURM_JOB_ID": 17, "SLURM_STEP_ID": 0, "SLURM_STEP_NUM_TASKS": 2}
    ranks = [{**step, "SLURM_PROCID": rank} for rank in range(2)]
    first, second = together(tmp_path, *ranks, words=("run", "--check", "train.py", free_port()))
    assert (first.code, second.code, second.err) == (1, 0, ""), first.err + second.err
    assert job_folder(tmp_path).name == "slurm-17.0" and found(report(tmp_path)) == {"FSDP808": (0, 1)}


@pytest.mark.slow
def test_nothing_says_who_is_who(tmp_path: Path) -> None:
    """As with a loop in a shell: what the two have in common is where they meet."""
    program = SLURM.replace('os.environ["SLURM_PROCID"]', "sys.argv[2]")
    (tmp_path / "train.py").write_text(program)
    meet: dict[str, object] = {"MASTER_ADDR": "localhost", "MASTER_PORT": free_port()}
    with ThreadPoolExecutor(2) as pool:
        words = ("run", "--check", "train.py", free_port())
        first, second = pool.map(lambda rank: start(tmp_path, *words, rank, **meet), range(2))
    assert (first.code, second.code, second.err) == (1, 0, ""), first.err + second.err
    assert found(report(tmp_path)) == {"FSDP808": (0, 1)} and report(tmp_path).notes == []


ALONE = """\
import os
import sys
import time
mine = os.path.realpath(sys.argv[1])
open(os.path.join(mine, str(os.getpid())), "w").close()
deadline = time.monotonic() + 120
while len(os.listdir(mine)) < 2 and time.monotonic() < deadline:
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_two_processes_that_believe_to_be_one_rank(tmp_path: Path) -> None:
    """An outer launcher says rank 0 to both, and no process group knows better. Neither writes over the other."""
    (tmp_path / "train.py").write_text(ALONE)
    (tmp_path / "here").mkdir()
    stale: dict[str, object] = {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "localhost", "MASTER_PORT": 1}
    ran = together(tmp_path, stale, stale, words=("run", "--check", "train.py", "here"))
    files = {path.name for path in rank_files(job_folder(tmp_path))}
    assert len(files) == 2 and 2 in [each.code for each in ran], [each.err for each in ran]
    told = report(tmp_path)
    assert not told.complete and told.notes[0].startswith("2 processes say that they are rank 0: this is ")
    assert all(name in told.notes[0] for name in files)


THREAD = SAME_DATA.replace("model = shard(Net())\n", "import threading\n\n\ndef loop():\n    model = shard(Net())\n")
THREAD = (
    THREAD.replace("\ntrain(", "\n    train(")
    + "\n\nthread = threading.Thread(target=loop)\nthread.start()\nthread.join()\n"
)


def test_a_loop_in_a_thread(tmp_path: Path) -> None:
    """As Ray Train runs it, with the variables that it sets for each worker."""
    (tmp_path / "train.py").write_text(THREAD)
    ran = command(tmp_path, "run", "--check", "train.py")
    assert (ran[0].code, found(report(tmp_path))) == (1, {"FSDP808": (0, 1)}), ran[0].err


# The agent keeps its store over a restart, and gloo may read there where the ranks of the attempt before it were.
MEETS = """\
attempt, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
store = dist.TCPStore("localhost", int(os.environ["PORT"]) + attempt, 2, rank == 0)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
"""
RESTARTS = SAME_DATA.replace('dist.init_process_group("gloo")\n', MEETS) + "if attempt == 0:\n    sys.exit(5)\n"


@pytest.mark.slow
def test_an_elastic_restart(tmp_path: Path) -> None:
    """Two attempts, each with files of its own; the last one says how the job ended."""
    (tmp_path / "train.py").write_text(RESTARTS)
    words = ["--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "-m", "fsdp2_lint"]
    own = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    own["PORT"] = str(free_port())
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *words, "run", "--check", "--exit-zero", "train.py"],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        timeout=180,
        check=True,
    )
    told = report(tmp_path)
    assert (told.ended, told.complete, told.notes, found(told)) == ({0: 0, 1: 0}, True, [], {"FSDP808": (0, 1)})
    assert len(rank_files(job_folder(tmp_path))) == 4


@pytest.mark.slow
def test_two_jobs_at_once(tmp_path: Path) -> None:
    """In one working folder: each keeps what it found, and its own verdict."""
    (tmp_path / "stale.py").write_text(STALE)
    (tmp_path / "same.py").write_text(SAME_DATA)
    with ThreadPoolExecutor(2) as pool:
        ran = list(
            pool.map(
                lambda name: start(tmp_path, "run", "--nproc-per-node", 2, "--output-format", "json", name),
                ("stale.py", "same.py"),
            )
        )
    assert [[each["code"] for each in json.loads(one.out)] for one in ran] == [["FSDP601"], ["FSDP808"]]
    jobs = sorted((tmp_path / REPORT).iterdir())
    codes = [found(read_job(job, registry.rules())) for job in jobs]
    assert len(jobs) == 2 and {"FSDP601": (0, 1)} in codes and {"FSDP808": (0, 1)} in codes
    both = start(tmp_path, "report", REPORT)
    assert both.code == 1 and f"There is 1 other job in {REPORT}: name one to see it, such as {REPORT}/" in both.err
