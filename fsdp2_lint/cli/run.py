"""``fsdp2-lint run``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click

from fsdp2_lint.cli import completion
from fsdp2_lint.cli.job_output import JobOptions, job_options, present, read_report
from fsdp2_lint.cli.streams import CLEAN, Failure, note, refused
from fsdp2_lint.report.folders import JOB, job_id
from fsdp2_lint.report.waiting import Waiting
from fsdp2_lint.settings.environment import refuse_odd_jobs

DEFAULT_FOLDER = "fsdp2-lint-report"
LAUNCHED = "FSDP2_LINT_LAUNCHED"  # set in ranks whose parent merges the reports


@click.command(context_settings={"allow_interspersed_args": False})  # what follows the script is its own
@click.option(
    "--check", is_flag=True, help="Watch the job and judge its contract. The default, and currently the only mode."
)
@click.option("--nproc-per-node", metavar="N", help="Start torchrun with this many ranks on this machine.")
@click.option(
    "--steps", type=click.IntRange(min=0), default=3, show_default=True, help="Optimizer steps to watch; 0: all."
)
@click.option(
    "--stall-after",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Report a rank once the others have waited for it this long (seconds); 0: never.",
)
@click.option(
    "--watch/--no-watch", default=True, show_default=True, help="Compare what the ranks issue to the end of the job."
)
@click.option("--on-finding", type=click.Choice(["report", "raise"]), default="report", show_default=True)
@click.option("--report-dir", type=click.Path(file_okay=False), default=DEFAULT_FOLDER, show_default=True)
@job_options
@click.option("-m", "kind", flag_value="-m", help="SCRIPT is a module, as for python -m.")
@click.option("-c", "kind", flag_value="-c", help="SCRIPT is Python code, as for python -c.")
@click.argument("script", shell_complete=completion.files)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=completion.files)
def run(check: bool, nproc_per_node: str | None, **given: Any) -> int:
    """Run a training script and check its first steps.

    Under torchrun: torchrun --nproc-per-node N -m fsdp2_lint run --check train.py ARGS, or run
    --check -m package.train ARGS. The script is not changed, and neither are its numbers. Exit codes:
    0 nothing found, 1 findings, 2 if something failed or is not complete, 3 nothing was checked since
    no fully_shard was seen. A script that fails keeps its own code.
    """
    options = JobOptions.of(given)
    with refused():
        refuse_odd_jobs(os.environ)
    refuse_absent(given["kind"], given["script"])
    if nproc_per_node is not None:
        return _launch(nproc_per_node, options, given)
    return _run_here(options, given)


def refuse_absent(kind: str | None, name: str) -> None:
    """A script that is not there is said before anything is started."""
    if kind is None and not os.path.isfile(name):
        raise Failure(f"{name}: no such file")
    if kind == "-m" and not all(part.isidentifier() for part in name.split(".")):
        raise Failure(f"-m {name}: that is not the name of a module")


def _run_here(options: JobOptions, given: dict[str, Any]) -> int:
    try:
        from fsdp2_lint.runtime.adapter import own
        from fsdp2_lint.runtime.launch.program import NoSuchModule, Program
        from fsdp2_lint.runtime.launch.script import NoReport, run_script
        from fsdp2_lint.runtime.session import Options
    except ImportError as error:
        raise Failure(f"`run` needs PyTorch with FSDP2 in the environment of the job: {error}") from None
    asked = (given[name] for name in ("stall_after", "watch"))
    watched = Options(given["steps"], given["on_finding"], options.select, options.ignore, *asked)
    folder = Path(given["report_dir"]).absolute() / job_id()  # the script may change the working directory
    began = time.time()
    program = Program(given["script"], given["arguments"], given["kind"] or "")
    try:
        code = run_script(program, watched, folder, live=not os.environ.get(LAUNCHED))
    except NoReport as error:
        raise Failure(str(error)) from None
    except NoSuchModule as error:
        raise Failure(f"{error}") from None
    if os.environ.get(LAUNCHED) or own().rank != 0:
        return code
    _, ranks, token = own()
    Waiting(folder, token, range(1, ranks), began).wait(failed=code != CLEAN, say=note)
    verdict = present(read_report(folder), options)
    return code or verdict


def _launch(ranks: str, options: JobOptions, given: dict[str, Any]) -> int:
    """Start torchrun, and merge what the ranks reported, however the job ended."""
    folder, job_name = Path(given["report_dir"]), f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
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
    command += [] if given["watch"] else ["--no-watch"]
    for name, codes in (("--select", options.select), ("--ignore", options.ignore)):
        command += [name, ",".join(codes)]  # also no code: that selects nothing
    command += [*filter(None, [given["kind"]]), given["script"], *given["arguments"]]
    job = subprocess.run(command, env={**os.environ, LAUNCHED: "1", JOB: job_name})
    try:
        report = read_report(folder / job_name)
    except Failure as failure:
        raise Failure(f"the job left no report (torchrun ended with {job.returncode}): {failure.message}") from None
    verdict = present(report, options)
    if job.returncode and len(report.ended) == report.world_size and not report.failed:
        note(f"torchrun ended with {job.returncode} after the script had ended well on all ranks")
        return verdict
    if report.failed or job.returncode:
        note(f"the job failed with exit code {report.failed or job.returncode}")
    return report.failed or job.returncode or verdict
