"""One folder for each job, below the folder that the user named."""

from __future__ import annotations

import multiprocessing
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .rank_file import first_record, rank_files

JOB = "FSDP2_LINT_JOB"  # set for what a process that is watched starts: it belongs to the same job
LAUNCH = "FSDP2_LINT_LAUNCH"


def job_id(environment: Mapping[str, str] = os.environ) -> str:
    """What the processes of one job share, as far as they can know it without asking each other.

    That is what the launcher calls the job, else where its ranks meet, else the process that started it.
    """
    return re.sub(r"[^\w.-]+", "_", _said(environment)).strip(".")[:100] or "job"


def _said(environment: Mapping[str, str]) -> str:
    if own := environment.get(JOB, ""):
        return own
    if (run := environment.get("TORCHELASTIC_RUN_ID", "")) not in ("", "none"):  # torchrun says "none" without an id
        return run
    if job := environment.get("SLURM_JOB_ID", ""):
        step = environment.get("SLURM_STEP_ID", "")
        return f"slurm-{job}.{step}" if step else f"slurm-{job}"
    address, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
    return f"{address}-{port}" if address and port else own_id()


def own_id() -> str:
    """This process, or the one that started it as a worker: those have it in common."""
    parent = multiprocessing.parent_process()
    return f"{socket.gethostname()}-{parent.pid if parent is not None else os.getpid()}"


def launch_id() -> str:
    """The process that the launcher started: this one, or the one that started it."""
    return os.environ.get(LAUNCH, "") or _this()


def agent_id() -> str:
    """The process of torchrun that started this one, and does so again after a failure; empty where there is none."""
    return f"{socket.gethostname()}-{os.getppid()}" if "TORCHELASTIC_RUN_ID" in os.environ else ""


def is_first() -> bool:
    """Did the launcher start this very process?"""
    return launch_id() == _this()


def _this() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def attempt() -> int:
    """The how manieth restart of an elastic job this is."""
    text = os.environ.get("TORCHELASTIC_RESTART_COUNT", "")
    return int(text) if text.isascii() and text.isdigit() else 0


def inherit() -> None:
    """What this process starts belongs to its job."""
    os.environ[JOB], os.environ[LAUNCH] = job_id(), launch_id()


@dataclass(frozen=True, slots=True)
class Chosen:
    """A job's folder, and the names of the other jobs beside it, the newest first."""

    folder: Path
    others: tuple[str, ...] = ()


def choose(folder: Path) -> Chosen:
    """``folder`` itself if ranks wrote into it, else the newest job below it; OSError where there is none."""
    if rank_files(folder):
        return Chosen(folder)
    jobs = sorted(((began, each) for each in folder.iterdir() if (began := _began(each)) is not None), reverse=True)
    if not jobs:
        raise FileNotFoundError(f"{folder}: no reports of ranks in here")
    return Chosen(jobs[0][1], tuple(each.name for _, each in jobs[1:]))


def _began(folder: Path) -> float | None:
    """When the newest process of a job began, in seconds of the epoch; None for what is no job's folder."""
    if not folder.is_dir():
        return None
    return max(_times(folder), default=None)


def _times(folder: Path) -> Iterator[float]:
    for path in rank_files(folder):
        said = first_record(path).get("time", 0.0)
        yield float(said) if isinstance(said, (int, float)) else 0.0  # of a rank that died before it said anything
