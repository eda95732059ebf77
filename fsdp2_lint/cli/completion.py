"""``fsdp2-lint completion``, and what the shells complete beyond commands and options: codes and names."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from fsdp2_lint.cli.streams import CLEAN, deliver

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FSDP2_LINT_COMPLETE"  # in which click looks for what a shell asks


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the script that completes commands in a shell.

    Your shell reads it when it starts; codes and names of rules are completed, too. For bash, in ~/.bashrc:
    eval "$(fsdp2-lint completion bash)". For zsh the same with zsh, in ~/.zshrc. For fish: fsdp2-lint completion
    fish > ~/.config/fish/completions/fsdp2-lint.fish.
    """
    from fsdp2_lint.cli import main

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"
    template = kind(main, {}, "fsdp2-lint", VARIABLE)
    deliver(template.source_template % template.source_vars(), None)
    return CLEAN


def code(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Codes, and names once a name is begun. Shells that show a help show the one beside the other."""
    from fsdp2_lint.catalogue.codes import named

    codes = [CompletionItem(each, help=name) for name, each in named().items() if each.startswith(typed.upper())]
    names = [CompletionItem(name, help=each) for name, each in named().items() if name.startswith(typed)]
    return names if typed and names else sorted(codes, key=lambda item: str(item.value))


def codes(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The last of several that are separated by commas; to a shell they are one word."""
    before, comma, last = typed.rpartition(",")
    return [CompletionItem(f"{before}{comma}{item.value}", help=item.help) for item in code(context, parameter, last)]
