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
    """Show for each model which rules are kept, and why.

    Each rule is violated, upheld or unknown. The five points of the contract come first. A rule is
    listed under a model if something was seen that it judges; what belongs to no single model, such
    as a save or an import, under its program. The last lines say how far each program was followed. Exit
    codes: 0 nothing violated, 1 a rule is violated, 2 if something failed or none of the models with
    FSDP2 was judged. Comments that silence findings do not change verdicts.
    """
    from fsdp2_lint.catalogue import registry
    from fsdp2_lint.catalogue.codes import OWN_CODES
    from fsdp2_lint.output import contract as verdicts
    from fsdp2_lint.output import plural

    options = Options(**given)
    report = analyse(options)
    say_problems(report)
    if confirm is not None:
        from fsdp2_lint.report.confirm import settle

        report.models = settle(report.models, job_report(confirm, options))
    found = [each for each in (*report.findings, *report.silenced) if each.code not in OWN_CODES]
    told = verdicts.contract(found, report.models, report.followed)
    judged = bool(report.models) or told.violated
    if output_format == "json":
        text = verdicts.render_json(told, registry.rules(), report.target, report.unseen)
    else:
        names = {rule.code: rule.name for rule in registry.rules()}
        text = verdicts.render_text(told, names, color=options.colored, width=options.width) if judged else ""
    deliver(text, options.output_file)
    code = options.exit_code(report, found=told.violated)
    if not (judged or report.candidates or report.linked or report.failures):
        options.say(f"No model that is sharded with FSDP2 in {plural(len(report.files), 'file')}.")
        return code
    if not judged and code != ABNORMAL:
        # Success would read as "the contract holds", and nothing was judged.
        raise Failure(f"the selected rules judge no model that is sharded in {plural(len(report.files), 'file')}")
    return code
