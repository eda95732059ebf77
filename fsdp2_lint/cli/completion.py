"""``fsdp2-lint completion``, and what the shells complete beyond commands and options: codes and names."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from fsdp2_lint.cli.streams import CLEAN, deliver

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FSDP2_LINT_COMPLETE"  # in which click looks for what a shell asks
# Lines of click's scripts, and what stands in their place.
_ASKED = 'response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD '
_IN_ONE_WORD = """\
# To bash the = in --select=FSDP6 is a word of its own.
    local word last=-1
    local -a words=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ $last -ge 0 && ( $word == "=" || ${words[last]} == --*= ) ]]; then
            words[last]+=$word
        else
            words+=("$word")
            last=$((last + 1))
        fi
    done
    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$last """
# To zsh --select= is a part of the word, which a match replaces as a whole unless it is said to stand before it.
_READ = "    for type key descr"
_BEHIND_OPTION = f"    [[ $PREFIX == --*=* ]] && compset -P 1 '*='\n{_READ}"
_ALL, _ALL_BEHIND = " -U", ' -U -i "$IPREFIX"'
# To fish a match has the option in it.
_ANSWER = '"(%(complete_func)s)"'
_WITH_OPTION = r"""'(string replace --regex "^(--[^=]*=)?.*" "\$1" -- (commandline -t))(%(complete_func)s)'"""
_SPLIT, _SPLIT_ONCE = 'string split ","', 'string split --max 1 ","'  # codes have commas between them
_OTHERWISE = {
    "bash": ((_ASKED, _IN_ONE_WORD),),
    "zsh": ((_READ, _BEHIND_OPTION), (_ALL, _ALL_BEHIND)),
    "fish": ((_SPLIT, _SPLIT_ONCE), (_ANSWER, _WITH_OPTION)),
}


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
    script = template.source_template
    for line, otherwise in _OTHERWISE[shell]:
        script = script.replace(line, otherwise)
    deliver(script % template.source_vars(), None)
    return CLEAN


def files(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The shell knows best which files there are."""
    return [CompletionItem(typed, type="file")]


def versions(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    from fsdp2_lint.vocab.target import NEWEST, OLDEST, in_digits

    every = (in_digits((OLDEST[0], minor)) for minor in range(OLDEST[1], NEWEST[1] + 1))  # of one major version, so far
    return [CompletionItem(each) for each in every if each.startswith(typed)]


def code(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Codes, and names once a name is begun. Shells that show a help show the one beside the other."""
    from fsdp2_lint.catalogue.codes import named

    codes = [CompletionItem(each, help=name) for name, each in named().items() if each.startswith(typed.upper())]
    names = [CompletionItem(name, help=each) for name, each in named().items() if name.startswith(typed)]
    return names if typed and names else sorted(codes, key=lambda item: str(item.value))


def codes(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The last of several that are separated by commas; to a shell they are one word."""
    from fsdp2_lint.catalogue.codes import ALL

    before, comma, last = typed.rpartition(",")
    every = [CompletionItem(ALL, help="every code, advice too")] if ALL.startswith(last.upper()) else []
    found = [*code(context, parameter, last), *every]
    return [CompletionItem(f"{before}{comma}{item.value}", help=item.help) for item in found]
