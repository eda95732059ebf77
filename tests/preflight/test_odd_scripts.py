"""Scripts that cannot be rehearsed end with the reason and the line: also those that cannot say it themselves."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.preflight.part import Asked
from fsdp2_lint.report.outcome import JobReport
from tests.preflight.rehearsals import rehearsed

pytestmark = pytest.mark.torchrun
HEAD = """\
import os
import torch
import torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
"""
ASKED = Asked(depth="plan", ranks=(0,))


def report_of(text: str, tmp_path: Path, asked: Asked = ASKED) -> JobReport:
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    return rehearsed(script, tmp_path / "report", size=16, asked=asked)


# The code after the head, why it ends, and at which line.
ODD = {
    "crash of C code": ("import ctypes\nctypes.string_at(0)\n", "its process was ended by SIGSEGV", 7),
    "abort": ("os.abort()\n", "its process was ended by SIGABRT", 6),
    "hard exit": ("os._exit(7)\n", "the script ended itself with exit code 7", 6),
    "another program": (
        'os.execv("/bin/true", ["/bin/true"])\n',
        "its process ended with exit code 0, without coming to the end of the script",
        0,
    ),
    "exit": ("import sys\nsys.exit(4)\n", "the script ended itself with exit code 4", 7),
    "no such kernel": (
        "torch.ops.of_nobody.forward(torch.ones(2).cuda())\n",
        "AttributeError: '_OpNamespace' 'of_nobody' object has no attribute 'forward'",
        6,
    ),
    "a question": ('answer = input("really? ")\n', "EOFError: EOF when reading a line", 6),
    "a signal": (
        "import signal\ndef stop(*told):\n    raise KeyboardInterrupt\nsignal.signal(signal.SIGTERM, stop)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n",
        "KeyboardInterrupt: ",
        8,
    ),
    "an ordinal of the whole job": (
        "torch.cuda.set_device(dist.get_rank() + 8)\n",
        "AcceleratorError: CUDA error: invalid device ordinal: cuda:8 of a node of 8 GPUs",
        6,
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "crash of C code" else [pytest.mark.slow]) for name in ODD]
)
def test_it_ends_with_the_reason(name: str, tmp_path: Path) -> None:
    text, why, row = ODD[name]
    report = report_of(HEAD + text, tmp_path)
    [stop] = report.stopped.values()
    assert (stop.why.replace("RuntimeError: CUDA", "AcceleratorError: CUDA"), stop.row) == (why, row)
    assert report.exit_code == 3 and not report.findings and not any("no end" in note for note in report.notes)


@pytest.mark.slow
def test_a_loop_without_an_end_is_given_up(tmp_path: Path) -> None:
    """It catches all that could be raised in it."""
    text = "while True:\n    try:\n        os.stat(os.curdir)\n    except BaseException:\n        pass\n"
    report = report_of(HEAD + text, tmp_path, replace(ASKED, patience=15.0))
    [stop] = report.stopped.values()
    assert stop.why == "nothing that a rehearsal looks at has happened for 15 s" and 6 <= stop.row <= 8
    assert report.exit_code == 3


@pytest.mark.slow
def test_a_fork_speaks_for_nobody(tmp_path: Path) -> None:
    text = "if (child := os.fork()) == 0:\n    os._exit(3)\nos.waitpid(child, 0)\n"
    assert not report_of(HEAD + text, tmp_path).stopped


@pytest.mark.slow
def test_the_line_is_that_of_the_user_and_not_of_a_library(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "of_others"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def load(name):\n    raise OSError('no such file')\n", encoding="utf-8")
    text = f"import sys\nsys.path.append({str(package.parent)!r})\nimport of_others\nof_others.load('weights')\n"
    [stop] = report_of(text, tmp_path).stopped.values()
    assert (stop.why, Path(stop.path).name, stop.row) == ("OSError: no such file", "train.py", 4)


@pytest.mark.slow
def test_a_rank_that_joins_no_group_is_one_of_the_job(tmp_path: Path) -> None:
    """Rank 8 fails before there is a group, on the second node. What rank 0 saw is told too."""
    text = "import os, torch, torch.distributed as dist\ntorch.cuda.set_device(int(os.environ['RANK']))\n"
    report = report_of(text + "dist.init_process_group('nccl')\n", tmp_path, replace(ASKED, ranks=(0, 8)))
    assert report.ranks == (0, 8) and list(report.stopped) == [8] and not report.notes


# On a node of 8 GPUs rank 8 has the first of the second node. The code after the head, and the line that fails.
OF_THE_WHOLE_JOB = {
    "selected": ("torch.cuda.set_device(dist.get_rank())\n", 5),
    "a device": ("where = torch.device('cuda', dist.get_rank())\ntorch.nn.Linear(8, 8).to(where)\n", 6),
    "text": ("where = f'cuda:{dist.get_rank()}'\ntorch.ones(2, device=where)\n", 6),
}
UNSELECTED = HEAD.replace('torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n', "")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "selected" else [pytest.mark.slow]) for name in OF_THE_WHOLE_JOB]
)
def test_a_device_by_the_rank_in_the_whole_job_is_a_finding(name: str, tmp_path: Path) -> None:
    text, row = OF_THE_WHOLE_JOB[name]
    report = report_of(UNSELECTED + text, tmp_path, replace(ASKED, ranks=(0, 8)))
    assert [(each.code, each.primary.site.row) for each in report.findings] == [("FSDP102", row)]
    assert list(report.stopped) == [8] and [crash.code for crash in report.crashes] == ["FSDP102"]


@pytest.mark.slow
def test_a_number_that_is_written_there_is_not_the_rank(tmp_path: Path) -> None:
    report = report_of(UNSELECTED + "torch.cuda.set_device(8)\n", tmp_path, replace(ASKED, ranks=(0, 8)))
    assert list(report.stopped) == [0, 8] and not report.findings


KERNEL = """\
os.environ["TORCH_EXTENSIONS_DIR"] = os.path.abspath("extensions")
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.cpp_extension import load_inline
model = nn.Linear(8, 8).cuda()
fully_shard(model)
out = model(torch.randn(4, 8, device="cuda"))
"""
NEEDS_NVCC = """\
source = "torch::Tensor twice(torch::Tensor x);"
kernel = load_inline("of_a_gpu", cpp_sources=source, cuda_sources="// none", functions=["twice"])
"""
COMPILED = """\
source = "torch::Tensor twice(torch::Tensor x) { return x * 2; }"
source += "torch::Tensor first(torch::Tensor x) { return x * *x.data_ptr<float>(); }"
kernel = load_inline("of_this_test", cpp_sources=source, functions=["twice", "first"])
kernel.twice(out).sum().backward()
kernel.first(out.detach())
"""
STEP = replace(ASKED, depth="step")


@pytest.mark.slow
@pytest.mark.skipif(torch.version.cuda is not None, reason="needs a torch that cannot compile for GPUs")
def test_a_kernel_for_gpus_ends_where_it_is_compiled(tmp_path: Path) -> None:
    report = report_of(HEAD + KERNEL + NEEDS_NVCC, tmp_path, STEP)
    [stop] = report.stopped.values()
    assert "CUDA_HOME environment variable is not set" in stop.why and stop.row == 14
    assert report.exit_code == 3 and not report.findings


@pytest.mark.slow
@pytest.mark.skipif(None in map(shutil.which, ("c++", "ninja")), reason="needs a compiler and ninja")
def test_a_kernel_of_torchs_operations_runs_and_one_that_reads_memory_ends_where_it_is_called(tmp_path: Path) -> None:
    """Tensors have no memory at this depth. With values both run."""
    report = report_of(HEAD + KERNEL + COMPILED, tmp_path, STEP)
    [stop] = report.stopped.values()
    assert "its data is not allocated" in stop.why and stop.row == 17
    assert report.sharded and report.exit_code == 3 and not report.findings
    assert not report_of(HEAD + KERNEL + COMPILED, tmp_path, replace(STEP, depth="real")).stopped
