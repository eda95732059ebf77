"""`fsdp2-lint run` as users start it: exit codes, output, and what a script sees of it."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from fsdp2_lint import cli
from fsdp2_lint.report.rank_file import VERSION, RankFile, records
from tests.runtime.commands import GOOD, HEAD, REPORT, STALE, Ran, command, job_folder, row

pytestmark = pytest.mark.torchrun

ROOT = Path(__file__).parents[2]
BROKEN = ROOT / "examples" / "broken" / "optimizer_before_sharding"
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
TOOL = (sys.executable, "-m", "fsdp2_lint")

STALE_ROW = row(STALE, "optimizer = ")
STALE_MESSAGE = "the optimizer is built before fully_shard replaces the parameters of Net: they never train"
STALE_TEXT = f"""\
FSDP601 error optimizer-before-sharding: {STALE_MESSAGE}
  --> train.py:46:13
   |
35 |     return fully_shard(model)
   |            ------------------ fully_shard replaces them here
...
46 | optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SGD takes the parameters of Net here
47 | shard(model)
   | ------------ fully_shard replaces them here
   |
   = seen: ranks 0-1, step 1
   = help: build the optimizer, and every list of parameters for it, after the last fully_shard
   = explain: fsdp2-lint explain FSDP601

"""
BROKEN_TEXT = f"""\
FSDP601 error optimizer-before-sharding: {STALE_MESSAGE}
  --> train.py:35:17
   |
35 |     optimizer = build_optimizer(model, lr=1e-2)  # error: [FSDP601]
   |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AdamW takes the parameters of Net here
36 |     parallelize(model, mesh)
   |     ------------------------ fully_shard replaces them here
  ::: optim.py:16:12
   |
16 |     return AdamW(groups, lr=lr)  # related: [FSDP601]
   |            -------------------- AdamW takes the parameters of Net here
  ::: parallelize.py:13:5
   |
13 |     fully_shard(model, mesh=mesh)  # related: [FSDP601]
   |     ----------------------------- fully_shard replaces them here
   |
   = seen: ranks 0-1, step 1
   = help: build the optimizer, and every list of parameters for it, after the last fully_shard
   = explain: fsdp2-lint explain FSDP601

"""


def call(folder: Path, *words: object) -> Ran:
    """A command in a process of its own, in ``folder``."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [str(each) for each in words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write(folder: Path, program: str) -> Path:
    path = folder / "train.py"
    path.write_text(program)
    return path


# With the real launcher. Each of these costs seconds, so one job serves several tests. Those that are slow have a like
# below, without the launcher.


@dataclass(frozen=True)
class Done:
    folder: Path
    ran: Ran


@pytest.fixture(scope="module")
def broken_job(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """``torchrun -m fsdp2_lint run --check`` on a copy of the broken example."""
    folder = tmp_path_factory.mktemp("broken") / "job"
    shutil.copytree(BROKEN, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return Done(folder, call(folder, *TORCHRUN, "-m", "fsdp2_lint", "run", "--check", "train.py"))


@pytest.mark.slow
def test_under_torchrun(broken_job: Done) -> None:
    assert broken_job.ran.code == 1
    trained, found = broken_job.ran.out.split("FSDP601", 1)
    assert "FSDP601" + found == BROKEN_TEXT
    assert [line.split(",")[0] for line in trained.splitlines()] == [f"step {step}" for step in range(1, 21)]
    told = [line for line in broken_job.ran.err.splitlines() if line.startswith(("fsdp2-lint", "Found", "warning"))]
    assert told == [
        f"fsdp2-lint: {broken_job.folder}/train.py:35: FSDP601 error {STALE_MESSAGE} [optimizer-before-sharding]",
        "Found 1 error on 2 ranks in 3 training steps.",
    ]


KNOT = """\
class Knot:
    def __init__(self):
        self.itself = self

    def __del__(self):
        print("untied")


knot = Knot()
"""


@pytest.mark.slow
def test_what_the_job_made_ends_as_without_us(tmp_path: Path) -> None:
    """Bindings of triton count at the very end of a process what was not taken down, and print pages of it."""
    write(tmp_path, KNOT)
    assert call(tmp_path, *TOOL, "run", "--check", "train.py").out == "untied\n"


@pytest.mark.slow
def test_report_of_what_torchrun_left(broken_job: Done) -> None:
    ran = call(broken_job.folder, *TOOL, "report", REPORT)
    assert ran == Ran(1, BROKEN_TEXT, "Found 1 error on 2 ranks in 3 training steps.\n")


@pytest.mark.slow
def test_check_confirms_what_torchrun_left(broken_job: Done) -> None:
    ran = call(broken_job.folder, *TOOL, "check", "--confirm", REPORT, "--output-format", "json", ".")
    (found,) = json.loads(ran.out)
    keys = ("code", "filename", "ranks", "step", "standing")
    path = str(broken_job.folder / "train.py")
    assert [found[key] for key in keys] == ["FSDP601", path, "0-1", 1, "confirmed at run time"]
    assert found["location"]["row"] == 35 and ran.code == 1


@pytest.mark.slow
def test_a_report_of_another_program_confirms_nothing(broken_job: Done, tmp_path: Path) -> None:
    """Neither denies it what is true of another program, nor settles it what is unknown there."""
    for name in ("sharded_twice.py", "rank_guarded_collective"):
        source = BROKEN.parent / name
        target = tmp_path / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    report = ("--confirm", broken_job.folder / REPORT)
    plain, compared = (
        json.loads(call(tmp_path, *TOOL, "check", *more, "--output-format", "json", ".").out) for more in ((), report)
    )
    assert plain == [each for each in compared if each.get("standing") != "seen only at run time"] and len(plain) >= 2
    bare, settled = (call(tmp_path, *TOOL, "contract", *more, ".") for more in ((), report))
    assert bare.out == settled.out and "unknown" in bare.out
    assert settled.err.startswith(f"The report is of train.py in {broken_job.folder}")


@pytest.mark.slow
def test_contract_is_settled_by_its_own_report(tmp_path: Path) -> None:
    """Which dtypes a group has shows at its first forward, where the source leaves that to the environment."""
    folder = tmp_path / "job"
    shutil.copytree(BROKEN, folder, ignore=shutil.ignore_patterns("__pycache__"))
    plan = folder / "parallelize.py"
    sharded = "    fully_shard(model, mesh=mesh)"
    chosen = f'    if os.environ.get("LOW_PRECISION"):\n        model.head.half()\n{sharded}'
    plan.write_text(f"import os\n{plan.read_text(encoding='utf-8').replace(sharded, chosen)}", encoding="utf-8")
    assert call(folder, *TORCHRUN, "-m", "fsdp2_lint", "run", "--check", "train.py").code == 1
    ran = call(folder, *TOOL, "contract", "--confirm", job_folder(folder), ".")
    assert "settled by: the job (3 steps, ranks 0-1)" in ran.out


@pytest.mark.slow
def test_launched_by_the_tool(tmp_path: Path) -> None:
    write(tmp_path, STALE)
    ran = call(tmp_path, *TOOL, "run", "--nproc-per-node", "2", "--check", "train.py")
    assert (ran.code, ran.out) == (1, STALE_TEXT)
    assert "Found 1 error on 2 ranks in 3 training steps.\n" in ran.err


@pytest.mark.slow
def test_good_script(tmp_path: Path) -> None:
    script = ROOT / "examples" / "good" / "reference.py"
    ran = call(tmp_path, *TOOL, "run", "--nproc-per-node", "2", "--check", script, "--steps", "3")
    assert ran.code == 0, ran.err
    assert [line.split(",")[0] for line in ran.out.splitlines()] == ["step 1", "step 2", "step 3"]
    assert ran.err.endswith("No findings on 2 ranks in 3 training steps.\n")


@pytest.mark.slow
def test_exit_code_of_the_script(tmp_path: Path) -> None:
    """Torchrun itself ends with 1 for whatever a rank ends with."""
    write(tmp_path, "import os\nimport sys\n\nsys.exit(7 * int(os.environ['RANK']))\n")
    ran = call(tmp_path, *TOOL, "run", "--nproc-per-node", "2", "--check", "train.py")
    assert ran.code == 7
    # Torchrun ends the other rank as soon as one failed, at times before that one has said anything.
    said = (
        r"Nothing was checked: no fully_shard was seen on (1 rank|2 ranks)\.",
        r"The report is not complete: nothing was found on 1 rank in 0 training steps so far\.",
    )
    assert re.search(rf"({'|'.join(said)})\nthe job failed with exit code 7\n\Z", ran.err)


KILLED = STALE + "dist.barrier()\nif rank == 1:\n    os.kill(os.getpid(), 9)\ndist.barrier()\n"


@pytest.fixture(scope="module")
def killed_job(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("killed")
    write(folder, KILLED)
    return Done(folder, call(folder, *TOOL, "run", "--nproc-per-node", "2", "--steps", "0", "--check", "train.py"))


@pytest.mark.slow
def test_a_rank_is_killed(killed_job: Done) -> None:
    """Rank 0 may or may not come to its end: torchrun stops it, or its connection breaks first.

    Who went first is said as long as nobody is known to have failed before a watcher saw it go, and if it looked while
    the other one was there.
    """
    assert (killed_job.ran.code, killed_job.ran.out) == (1, STALE_TEXT)
    ran = call(killed_job.folder, *TOOL, "report", REPORT)
    assert (ran.code, ran.out) == (1, STALE_TEXT)
    notes = [line for line in ran.err.splitlines() if line.startswith("warning")]
    ends, gone = notes[:1], notes[1:]
    assert ends in (["warning: the report of rank 1 has no end"], ["warning: the report of ranks 0-1 has no end"])
    place = re.escape(str(killed_job.folder / "train.py"))
    one = rf"warning: rank 1 was gone (first, )?at [\d:]+, and last stood at {place}:\d+"
    both = rf"warning: ranks 0-1 were gone at [\d:]+(, and last stood at {place}:\d+)?: which of them went first.*"
    assert re.fullmatch(f"({one}|{both})?", "".join(gone))
    assert "Found 1 error on 2 ranks" in ran.err


@pytest.mark.slow
def test_steps_of_a_killed_job(killed_job: Done) -> None:
    ended = [record["record"] for record in records(job_folder(killed_job.folder) / "rank1.jsonl")]
    assert "closed" not in ended and "end" not in ended
    # Whatever rank 0 came to, rank 1 was seen to make three steps.
    (killed_job.folder / "alone").mkdir(exist_ok=True)
    shutil.copy(job_folder(killed_job.folder) / "rank1.jsonl", killed_job.folder / "alone")
    assert "in 3 training steps" in call(killed_job.folder, *TOOL, "report", "alone").err


# Without it: the command line on two ranks.


def test_clean(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert command(tmp_path, "run", "--check", "train.py") == [
        Ran(0, "", "No findings on 2 ranks in 3 training steps.\n"),
        Ran(0, "", ""),
    ]


@pytest.mark.slow
def test_findings(tmp_path: Path) -> None:
    """Rank 0 speaks for all; the others only do their part."""
    write(tmp_path, STALE)
    announced = f"fsdp2-lint: {tmp_path}/train.py:46: FSDP601 error {STALE_MESSAGE} [optimizer-before-sharding]\n"
    assert command(tmp_path, "run", "--check", "train.py") == [
        Ran(1, STALE_TEXT, f"{announced}Found 1 error on 2 ranks in 3 training steps.\n"),
        Ran(0, "", ""),
    ]


@pytest.mark.slow
def test_steps_that_are_watched(tmp_path: Path) -> None:
    program = STALE.replace("train(model, optimizer)", "train(model, optimizer, 5)")
    write(tmp_path, program)
    for given, told in (((), 3), (("--steps", "1"), 1), (("--steps", "0"), 5)):
        ran = command(tmp_path, "run", *given, "train.py")[0]
        steps = f"{told} training step{'s' if told > 1 else ''}"
        assert ran.err.splitlines()[-1] == f"Found 1 error on 2 ranks in {steps}."


def test_no_sharding(tmp_path: Path) -> None:
    write(tmp_path, HEAD + "print(rank)\n")
    assert command(tmp_path, "run", "--check", "train.py") == [
        Ran(3, "0\n", "Nothing was checked: no fully_shard was seen on 2 ranks.\n"),
        Ran(0, "1\n", ""),
    ]


def test_json(tmp_path: Path) -> None:
    script = write(tmp_path, STALE)
    ran = command(tmp_path, "run", "--output-format", "json", "train.py")[0]
    (found,) = json.loads(ran.out)
    place = {"row": STALE_ROW, "column": 13}
    assert (found["code"], found["filename"], found["location"]) == ("FSDP601", str(script), place)
    assert {key: found[key] for key in ("ranks", "step", "fqn")} == {"ranks": "0-1", "step": 1, "fqn": None}
    assert ran.code == 1


@pytest.mark.slow
def test_json_without_findings(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    ran = command(tmp_path, "run", "--output-format", "json", "train.py")[0]
    assert (ran.code, json.loads(ran.out)) == (0, [])


@pytest.mark.slow
def test_output_file_and_exit_zero(tmp_path: Path) -> None:
    write(tmp_path, STALE)
    ran = command(tmp_path, "run", "-o", "found.txt", "--exit-zero", "train.py")[0]
    assert (ran.code, ran.out, (tmp_path / "found.txt").read_text()) == (0, "", STALE_TEXT)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--ignore", "FSDP6"), 0),
        (("--select", "FSDP3"), 0),
        (("--select", ""), 0),
        (("--select", "optimizer-before-sharding"), 1),
    ],
)
def test_selection(tmp_path: Path, options: Sequence[str], code: int) -> None:
    write(tmp_path, STALE)
    ran = command(tmp_path, "run", *options, "train.py")[0]
    assert (ran.code, ran.out) == (code, STALE_TEXT if code else "")
    if not code:
        said = (
            "No findings on 2 ranks in 3 training steps." if options[1] else "Nothing was judged: no code is selected."
        )
        assert ran.err == f"{said}\n"


SILENCED = STALE.replace("lr=0.1)\nshard", "lr=0.1)  # noqa: FSDP601\nshard")


def test_comment(tmp_path: Path) -> None:
    write(tmp_path, SILENCED)
    ran = command(tmp_path, "run", "train.py")[0]
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith("No findings on 2 ranks in 3 training steps. 1 silenced by comments.\n")


@pytest.mark.slow
def test_comment_silences_the_announcement(tmp_path: Path) -> None:
    write(tmp_path, SILENCED)
    assert "FSDP601" not in command(tmp_path, "run", "train.py")[0].err


@pytest.mark.slow
def test_comment_lets_the_job_run_on(tmp_path: Path) -> None:
    write(tmp_path, SILENCED + "print('trained')\n")
    ran = command(tmp_path, "run", "--on-finding", "raise", "train.py")
    assert [(each.code, each.out) for each in ran] == [(0, "trained\n"), (0, "trained\n")]


def test_raise(tmp_path: Path) -> None:
    """The script stops where the finding is seen: before the optimizer's first step."""
    write(tmp_path, STALE.replace("optimizer.step()", "print('before'); optimizer.step(); print('after')"))
    ran = command(tmp_path, "run", "--on-finding", "raise", "train.py")
    assert [each.code for each in ran] == [1, 1]
    assert ran[0].out.startswith("before\nFSDP601 error") and ran[1].out == "before\n"
    assert "ContractViolation: FSDP601 optimizer-before-sharding at" in ran[1].err
    assert f"ranks 0-1 failed: ContractViolation: FSDP601 optimizer-before-sharding at {tmp_path}/train" in ran[0].err


# Without a step, the plan is only settled when the script is over.
LATE = HEAD + (
    "model = Net()\nfor layer in model.layers:\n    fully_shard(layer)\n"
    "nn.functional.cross_entropy(model(batch(0)), batch(0)).backward()\n"
)


@pytest.mark.slow
def test_found_at_the_end(tmp_path: Path) -> None:
    write(tmp_path, LATE)
    ran = command(tmp_path, "run", "--select", "FSDP303", "train.py")[0]
    assert ran.code == 1 and ran.out.startswith("FSDP303 error root-not-sharded")


@pytest.mark.slow
def test_raise_at_the_end(tmp_path: Path) -> None:
    write(tmp_path, LATE)
    ran = command(tmp_path, "run", "--select", "FSDP303", "--on-finding", "raise", "train.py")
    last = list(records(job_folder(tmp_path) / "rank0.jsonl"))[-1]
    assert (last["record"], [each.code for each in ran]) == ("end", [1, 1])
    assert "internal error" not in ran[0].err


TWICE = HEAD + "model = shard(Net())\nfully_shard(model)\n"


@pytest.mark.slow
def test_raise_in_a_crash(tmp_path: Path) -> None:
    """Torch's own error and its explanation must not be lost because the clause behind it raises too."""
    write(tmp_path, TWICE)
    ran = command(tmp_path, "run", "--on-finding", "raise", "train.py")
    assert [each.code for each in ran] == [1, 1]
    assert "internal error" not in ran[0].err
    assert "crash" in [record["record"] for record in records(job_folder(tmp_path) / "rank0.jsonl")]


def test_exit_code_of_each_rank(tmp_path: Path) -> None:
    """Under torchrun every process keeps its own code; a failure goes before the verdict."""
    write(tmp_path, STALE + "sys.exit(5 + rank)\n")
    assert [each.code for each in command(tmp_path, "run", "train.py")] == [5, 6]


@pytest.mark.slow
def test_report_of_a_killed_rank(tmp_path: Path) -> None:
    write(tmp_path, KILLED)
    assert command(tmp_path, "run", "--steps", "0", "train.py")[1].code == -9
    ran = command(tmp_path, "report", REPORT, ranks=1)[0]
    assert (ran.code, ran.out) == (1, STALE_TEXT)
    assert "the report of rank 1 has no end" in ran.err or "the report of ranks 0-1 has no end" in ran.err


@pytest.mark.slow
def test_message_as_exit_code(tmp_path: Path) -> None:
    write(tmp_path, "import sys\n\nsys.exit('no data')\n")
    ran = command(tmp_path, "run", "train.py")
    assert [each.code for each in ran] == [1, 1] and ran[1].err == "no data\n"


@pytest.mark.slow
def test_traceback(tmp_path: Path) -> None:
    write(tmp_path, "import sys\n\ndef load():\n    raise ValueError('no data')\n\nload()\n")
    ran = command(tmp_path, "run", "train.py")
    assert [each.code for each in ran] == [1, 1]
    assert ran[1].err.splitlines()[-1] == "ValueError: no data"
    assert "ranks 0-1 failed: ValueError: no data\n" in ran[0].err


def test_traceback_begins_in_the_script(tmp_path: Path) -> None:
    write(tmp_path, "import sys\n\ndef load():\n    raise ValueError('no data')\n\nload()\n")
    shown = command(tmp_path, "run", "train.py")[1].err
    assert "runpy" not in shown and "run_script" not in shown
    assert shown.splitlines()[1].endswith('train.py", line 6, in <module>')


# What a script sees.

PROBE = """\
'''A probe.'''
import json
import sys

main = sys.modules["__main__"]
seen = {
    "__name__": __name__, "__file__": __file__, "__doc__": __doc__, "__package__": __package__ or None,
    "argv": sys.argv, "path": sys.path[0], "main": main.__dict__ is globals(),
}
print(json.dumps({**seen, "spec": __spec__}))
"""


def test_what_a_script_sees(tmp_path: Path) -> None:
    write(tmp_path, PROBE)
    arguments = ("train.py", "data", "--steps", "9", "--check", "-x", "--", "--nproc-per-node=4")
    plain = json.loads(call(tmp_path, sys.executable, *arguments).out)
    watched = json.loads(command(tmp_path, "run", "--check", *arguments, ranks=1)[0].out)
    assert plain["argv"] == list(arguments)
    for each in (plain, watched):  # for the tests below
        each["__file__"] = os.path.join(str(tmp_path), each["__file__"])
    assert watched == plain


def test_file_is_absolute(tmp_path: Path) -> None:
    """A script that changes the working directory and then looks beside itself."""
    write(tmp_path, "import os\n\nos.chdir('/')\nprint(os.path.dirname(os.path.abspath(__file__)))\n")
    assert call(tmp_path, sys.executable, "train.py").out == f"{tmp_path}\n"
    assert command(tmp_path, "run", "train.py", ranks=1)[0].out == f"{tmp_path}\n"


@pytest.mark.slow
def test_script_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "settings.py").write_text("steps = 4\n")
    (tmp_path / "code" / "train.py").write_text("import settings\n\nprint(settings.steps)\n")
    (tmp_path / "train.py").symlink_to("code/train.py")
    assert call(tmp_path, sys.executable, "train.py").out == "4\n"
    assert command(tmp_path, "run", "train.py", ranks=1)[0].out == "4\n"


def test_neighbouring_files_and_pickles(tmp_path: Path) -> None:
    """Imports from the script's folder, and classes of ``__main__`` that are pickled and found again."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "settings.py").write_text("steps = 4\n")
    program = (
        "import pickle\nimport settings\n\nclass Config:\n    steps = settings.steps\n\n"
        "print(pickle.loads(pickle.dumps(Config())).steps)\n"
    )
    (tmp_path / "code" / "train.py").write_text(program)
    assert command(tmp_path, "run", "code/train.py", ranks=1)[0].out == "4\n"


# How it ends where there is no job to speak of.


def test_script_is_missing(tmp_path: Path) -> None:
    for options in ((), ("--nproc-per-node", "2")):
        ran = command(tmp_path, "run", "--check", *options, "trian.py", ranks=1)[0]
        assert ran == Ran(2, "", "error: trian.py: no such file\n")
    assert not (tmp_path / REPORT).exists()


def test_unknown_code(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    ran = command(tmp_path, "run", "--select", "FSDP999", "train.py", ranks=1)[0]
    assert (ran.code, ran.out) == (2, "") and ran.err.startswith("error: unknown code or name 'FSDP999'")


def test_report_without_a_job(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert command(tmp_path, "report", "empty", ranks=1)[0] == Ran(2, "", "error: empty: no reports of ranks in here\n")
    assert command(tmp_path, "report", "none", ranks=1)[0].code == 2


def test_report_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Either the job runs unwatched or the user is told what is wrong: that is no defect of the tool."""
    write(tmp_path, GOOD)
    (tmp_path / "file").write_text("")
    ran = command(tmp_path, "run", "--report-dir", "file/report", "train.py", ranks=1)[0]
    assert "internal error" not in ran.err


# Around torchrun, with a stand-in for it.


@dataclass
class Launcher:
    """Writes what ranks would have written, as (rank, exit code or None), and ends with ``code``."""

    folder: Path
    ranks: Sequence[tuple[int, int | None]]
    code: int
    command: Sequence[str] = ()
    environment: dict[str, str] | None = None

    def run(self, command: Sequence[str], env: dict[str, str]) -> SimpleNamespace:
        self.command, self.environment = command, env
        for time, (rank, code) in enumerate(self.ranks, start=1):
            file = RankFile(self.folder / env["FSDP2_LINT_JOB"], rank)
            file.write("start", version=VERSION, run="x", rank=rank, world_size=2)
            file.write("sharded")
            file.write("closed", why="end", steps=3)
            if code is not None:
                file.write("end", code=code, time=float(time))
        return SimpleNamespace(returncode=self.code)


@pytest.mark.parametrize(
    ("ranks", "torchrun", "code", "told"),
    [
        ([(0, 0), (1, 0)], 0, 0, "No findings on 2 ranks in 3 training steps."),
        ([(0, 0), (1, 7)], 1, 7, "the job failed with exit code 7"),
        ([(0, None), (1, 7)], 1, 7, "the job failed with exit code 7"),
        ([(0, 0), (1, None)], 1, 1, "the job failed with exit code 1"),
        ([(1, 7), (0, 1)], 1, 7, "the job failed with exit code 7"),
        ([], 1, 2, "error: the job left no report (torchrun ended with 1): "),
    ],
)
def test_launch(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    ranks: Sequence[tuple[int, int | None]],
    torchrun: int,
    code: int,
    told: str,
) -> None:
    script = write(tmp_path, GOOD)
    launcher = Launcher(tmp_path / "report", ranks, torchrun)
    monkeypatch.setattr(importlib.import_module("fsdp2_lint.cli.run"), "subprocess", launcher)
    words = ["run", "--nproc-per-node", "2", "--report-dir", str(tmp_path / "report"), "--select", "FSDP6,FSDP3"]
    assert cli.invoke([*words, str(script), "--steps", "9"]) == code
    assert capfd.readouterr().err.splitlines()[-1].startswith(told)
    inner = ["-m", "fsdp2_lint", "run", "--check", "--steps", "3", "--stall-after", "10.0", "--on-finding", "report"]
    inner += ["--report-dir", str(tmp_path / "report"), "--select", "FSDP6,FSDP3", "--ignore", ""]
    assert list(launcher.command[3:]) == ["--standalone", "--nproc-per-node", "2", *inner, str(script), "--steps", "9"]
    assert launcher.environment is not None and launcher.environment["FSDP2_LINT_LAUNCHED"] == "1"
