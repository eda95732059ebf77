"""``fsdp2-lint verify``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fsdp2_lint.cli import completion
from fsdp2_lint.cli.options import Options, analyse, refused, say_problems, shared
from fsdp2_lint.cli.streams import Failure, deliver
from fsdp2_lint.files.reading import REPORT_BYTES, read_given
from fsdp2_lint.output import comparison

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding


@click.command()
@shared
@click.option(
    "--since",
    required=True,
    metavar="FILE",
    shell_complete=completion.files,
    help="What `check --output-format json -o FILE` found before.",
)
@click.option("--output-format", type=click.Choice(comparison.FORMATS), default="text", show_default=True)
def verify(since: str, output_format: str, **given: Any) -> int:
    """Show which findings are fixed, silenced, left or new.

    A finding counts as fixed only if its rule is proved for the same model now; what is gone
    without that proof is listed as gone. Exit codes: 0 all are fixed, or gone with no less seen of
    their models than before, and nothing is new; 1 otherwise; 2 if something failed.
    """
    from fsdp2_lint.findings.verify import compare

    options = Options(**given)
    before = _read(since)
    with refused():
        compared = compare(
            before, options.named, options.asked, lambda paths, asked: analyse(options, asked, paths=paths)
        )
    say_problems(compared.report)
    deliver(comparison.render(output_format, compared, color=options.colored), options.output_file)
    options.say(comparison.summary(compared))
    return options.exit_code(compared.report, found=not compared.clean)


def _read(file: str) -> list[Finding]:
    from fsdp2_lint.report.codec import finding_from_json

    try:
        held = json.loads(read_given(file, REPORT_BYTES))
        return [finding_from_json(each) for each in (held if isinstance(held, list) else [held])]
    except OSError as error:
        raise Failure(f"{file}: cannot be read: {error.strerror or error}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Failure(f"{file}: does not contain what `check --output-format json` prints") from None
