"""``fsdp2-lint contract``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fsdp2_lint.cli.job_output import job_report
from fsdp2_lint.cli.options import Options, analyse, say_problems, shared
from fsdp2_lint.cli.streams import deliver
from fsdp2_lint.files.source import line_of

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding


@click.command()
@shared
@click.option("--confirm", type=click.Path(file_okay=False), help="Settle unknowns with the report of a job.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def contract(output_format: str, confirm: str | None, **given: Any) -> int:
    """Show for each model which rules are kept, and why.

    Each rule is violated, upheld or unknown. The five points of the contract come first. A rule is
    listed under a model if something was seen that it judges; what belongs to no single model, such
    as a save or an import, under its program. The last lines say how far each program was followed. Exit
    codes: 0 nothing violated, also where no model was judged, which is said; 1 a rule is violated;
    2 if something failed, such as a file that cannot be read or parsed. Comments that silence
    findings do not change verdicts.
    """
    from fsdp2_lint.catalogue import registry
    from fsdp2_lint.catalogue.codes import OWN_CODES
    from fsdp2_lint.files import syntax
    from fsdp2_lint.output import contract as verdicts
    from fsdp2_lint.output import looked_at, not_judged

    options = Options(**given)
    report = analyse(options)
    report.failures += [_unparsed(each) for each in report.findings if each.code == syntax.CODE]
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
    if not (judged or report.failures):
        files = looked_at(len(report.files), report.candidates, linked=report.linked)
        options.say_unjudged(not_judged(report.selected, report.skipped) or f"No model was judged in {files}.")
    return options.exit_code(report, found=told.violated)


def _unparsed(finding: Finding) -> str:
    """Of a file that is no Python: no rule is violated by it, but less was seen than was asked for."""
    return f"{line_of(finding.primary.site)}: cannot be parsed: {finding.message}"
