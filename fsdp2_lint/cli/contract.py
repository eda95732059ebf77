"""``fsdp2-lint contract``."""

from __future__ import annotations

from typing import Any

import click

from fsdp2_lint.cli.job_output import job_report
from fsdp2_lint.cli.options import Options, analyse, say_problems, shared
from fsdp2_lint.cli.streams import ABNORMAL, Failure, deliver


@click.command()
@shared
@click.option("--confirm", type=click.Path(file_okay=False), help="Settle unknowns with the report of a job.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def contract(output_format: str, confirm: str | None, **given: Any) -> int:
    """Say of each model which clauses hold: violated, upheld or unknown, and why.

    Exit codes: 0 nothing violated, 1 a clause is violated, 2 abnormal, also where no model is
    sharded with FSDP2. Comments that silence findings do not change verdicts.
    """
    from fsdp2_lint import registry
    from fsdp2_lint.output import contract as verdicts
    from fsdp2_lint.output import plural

    options = Options(**given)
    report = analyse(options)
    say_problems(report)
    if confirm is not None:
        from fsdp2_lint.report.confirm import settle

        report.models = settle(report.models, job_report(confirm, options))
    if output_format == "json":
        text = verdicts.render_json(report.models, registry.rules(), report.target)
    else:
        names = {rule.code: rule.name for rule in registry.rules()}
        text = verdicts.render_text(report.models, names, color=options.colored)
    deliver(text, options.output_file)
    violated = any(clause.word == "violated" for model in report.models for clause in model.clauses)
    code = options.exit_code(report, found=violated)
    if not report.models and code != ABNORMAL:
        # Success would read as "the contract holds", and nothing was judged.
        raise Failure(f"no model in {plural(len(report.files), 'file')} is sharded with FSDP2")
    return code
