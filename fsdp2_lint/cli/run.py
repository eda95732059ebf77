"""``fsdp2-lint run``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click

from fsdp2_lint.cli.job_output import JobOptions, job_options, present, read_report
from fsdp2_lint.cli.streams import CLEAN, Failure, note, refused
from fsdp2_lint.environment import refuse_odd_jobs

DEFAULT_FOLDER = "fsdp2-lint-report"
LAUNCHED = "FSDP2_LINT_LAUNCHED"  # set in ranks whose parent merges the reports
PATIENCE = 10.0  # seconds that rank 0 waits for the last words of the others


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--check", is_flag=True, help="Watch the job and judge its contract. The default, and the only mode yet.")
@click.option("--nproc-per-node", metavar="N", help="Start torchrun with so many ranks on this machine.")
@click.option(
    "--steps", type=click.IntRange(min=0), default=3, show_default=True, help="Optimizer steps to watch; 0: all."
)
@click.option(
    "--stall-after",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Seconds that the others may wait for a rank until it is reported; 0: never.",
)
@click.option("--on-finding", type=click.Choice(["report", "raise"]), default="report", show_default=True)
@click.option("--report-dir", type=click.Path(file_okay=False), default=DEFAULT_FOLDER, show_default=True)
@job_options
@click.argument("script", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(check: bool, nproc_per_node: str | None, script: str, arguments: tuple[str, ...], **given: Any) -> int:
    """Run a training script under hooks that confirm FSDP2's contract.

    Under torchrun: torchrun --nproc-per-node N -m fsdp2_lint run --check train.py ARGS. The script
    is not changed, and neither are its numbers. Exit codes: 0 nothing found, 1 findings, 2
    abnormal, 3 nothing was checked since no fully_shard was seen. A script that fails keeps its
    own code.
    """
    options = JobOptions.of(given)
    with refused():
        refuse_odd_jobs(os.environ)
    if not os.path.isfile(script):
        raise Failure(f"{script}: no such file")
    if nproc_per_node is not None:
        return _launch(nproc_per_node, script, arguments, options, given)
    return _run_here(script, arguments, options, given)


def _run_here(script: str, arguments: tuple[str, ...], options: JobOptions, given: dict[str, Any]) -> int:
    try:
        from fsdp2_lint.runtime.script import run_script
        from fsdp2_lint.runtime.session import Options
    except ImportError as error:
        raise Failure(f"`run` needs PyTorch with FSDP2 in the environment of the job: {error}") from None
    watched = Options(given["steps"], given["on_finding"], options.select, options.ignore, given["stall_after"])
    folder = Path(given["report_dir"]).absolute()  # the script may change the working directory
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{folder}: no reports can be written there: {error.strerror or error}") from None
    code = run_script(script, arguments, watched, folder, live=not os.environ.get(LAUNCHED))
    if os.environ.get(LAUNCHED) or os.environ.get("RANK", "0") != "0":
        return code
    _wait_for_others(folder, failed=code != CLEAN)
    verdict = present(read_report(folder), options)
    return code or verdict


def _wait_for_others(folder: Path, *, failed: bool) -> None:
    """Give the other ranks the time to write their last record. A rank that died never will."""
    from fsdp2_lint.report.rank_file import ended

    others = range(1, int(os.environ.get("WORLD_SIZE", "1")))
    deadline = time.monotonic() + (PATIENCE / 5 if failed else PATIENCE)
    while not ended(folder, others) and time.monotonic() < deadline:
        time.sleep(0.05)


def _launch(ranks: str, script: str, arguments: tuple[str, ...], options: JobOptions, given: dict[str, Any]) -> int:
    """Start torchrun, and merge what the ranks reported, however the job ended."""
    folder = Path(given["report_dir"])
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    command += ["-m", "fsdp2_lint", "run", "--check", "--steps", str(given["steps"])]
    command += [
        "--stall-after",
        str(given["stall_after"]),
        "--on-finding",
        given["on_finding"],
        "--report-dir",
        str(folder),
    ]
    for name, codes in (("--select", options.select), ("--ignore", options.ignore)):
        command += [name, ",".join(codes)]  # also no code: that selects nothing
    started = time.time()
    job = subprocess.run([*command, script, *arguments], env={**os.environ, LAUNCHED: "1"})
    try:
        report = read_report(folder, since=started)
    except Failure as failure:
        raise Failure(f"the job left no report (torchrun ended with {job.returncode}): {failure.message}") from None
    verdict = present(report, options)
    if job.returncode and len(report.ended) == report.world_size and not report.failed:
        note(f"torchrun ended with {job.returncode} after the script had ended well on all ranks")
        return verdict
    if report.failed or job.returncode:
        note(f"the job failed with exit code {report.failed or job.returncode}")
    return report.failed or job.returncode or verdict
