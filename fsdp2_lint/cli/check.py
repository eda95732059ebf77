"""``fsdp2-lint check``."""

from __future__ import annotations

from typing import Any

import click

from fsdp2_lint.cli.options import Options, analyse, say_problems, shared
from fsdp2_lint.cli.reporting import conclude, tell
from fsdp2_lint.cli.streams import deliver
from fsdp2_lint.output import FORMATS


class _Check(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # The reason follows after an =, or not at all: what comes next may be a path.
        return super().parse_args(ctx, [f"{each}=" if each == "--add-ignore" else each for each in args])


@click.command(cls=_Check)
@shared
@click.option("--confirm", type=click.Path(file_okay=False), help="Compare with the report of a job (see `run`).")
@click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option("--fix", is_flag=True, help="Fix what can be fixed without changing what the program does.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that you have to read afterwards.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--exit-non-zero-on-fix", is_flag=True, help="With --fix: exit with 1 also if all that was found is fixed."
)
@click.option("--add-ignore", metavar="[=REASON]", help="Add an ignore comment above each finding, with the reason.")
@click.option("--baseline", metavar="FILE", type=click.Path(dir_okay=False), help="Known findings not to report again.")
@click.option("--update-baseline", is_flag=True, help="Write the findings of this run to the baseline.")
@click.option("--statistics", is_flag=True, help="Count findings by code, in place of showing them.")
@click.option("--max-findings", type=click.IntRange(min=1), metavar="N", help="Show N findings and say how many more.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option("--show-settings", is_flag=True, help="Show the settings that apply here.")
def check(
    output_format: str,
    confirm: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    exit_non_zero_on_fix: bool,
    add_ignore: str | None,
    baseline: str | None,
    update_baseline: bool,
    statistics: bool,
    max_findings: int | None,
    show_files: bool,
    show_settings: bool,
    **given: Any,
) -> int:
    """Check files and folders (default: this folder; - reads stdin).

    Nothing that is checked is imported or run. Exit codes: 0 nothing found, 1 findings, 2
    if something failed, such as a file that cannot be read.
    """
    from fsdp2_lint.cli import baseline as baselines

    if fix or diff or add_ignore is not None:  # what is not needed is not loaded: a hook starts this many times a day
        from fsdp2_lint.cli import changes
    if statistics or show_files or show_settings:
        from fsdp2_lint.cli import info

    options = Options(**given)
    actions = {
        "--fix": fix and not diff,
        "--diff": diff,
        "--add-ignore": add_ignore is not None,
        "--update-baseline": update_baseline,
        "--show-files": show_files,
        "--show-settings": show_settings,
    }
    chosen = [name for name, asked_for in actions.items() if asked_for]
    if chosen and (others := [*chosen[1:], *["--confirm"] * (confirm is not None), *["--statistics"] * statistics]):
        raise click.UsageError(f"{chosen[0]} and {others[0]} exclude each other")
    if add_ignore is not None and options.stdin is not None:
        raise click.UsageError("--add-ignore writes into files, and stdin is not a file")
    if statistics and output_format not in info.STATISTICS:
        raise click.UsageError(f"--statistics can be shown as {', '.join(info.STATISTICS)}")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff")
    if exit_non_zero_on_fix and not actions["--fix"]:
        raise click.UsageError("--exit-non-zero-on-fix needs --fix")
    if show_settings:
        return info.settings(options, baseline)
    if show_files:
        return info.files(options)
    asked = baselines.with_baseline(options, baseline, update=update_baseline)
    if fix or diff:
        shown = changes.Shown(output_format, max_findings)
        return changes.fix(
            options, asked, shown, write=not diff, unsafe=unsafe_fixes, fixing_counts=exit_non_zero_on_fix
        )
    report = analyse(options, asked)
    say_problems(report)
    if add_ignore is not None:
        return changes.add_ignore(options, report, add_ignore)
    if update_baseline:
        return baselines.update(options, asked, report, baseline)
    if confirm is not None:
        from fsdp2_lint.cli.job_output import job_report
        from fsdp2_lint.report.confirm import confirm as compare

        report.findings = compare(report.findings, job_report(confirm, options))
    if statistics:
        if report.files or not report.failures:
            deliver(info.statistics(report, output_format), options.output_file)
        conclude(options, report)
    else:
        tell(options, report, output_format, max_findings)
    return options.exit_code(report, found=bool(report.findings))
