"""What was planted and what was found of it, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .planting import OPERATORS, WORDS, Outcome

HEAD = "| operator | clause | mutants | found | missed | recall | across files | not reached | crash |"


def table(outcomes: Sequence[Outcome]) -> str:
    """Markdown: by operator, and overall. What is not reached is no mutant; ``across files``: found of those."""
    lines = [HEAD, "|---|---|" + "---|" * 7]
    for operator in OPERATORS:
        mine = [each for each in outcomes if each.operator == operator.name]
        lines.append(f"| {operator.name} | {operator.code} | {_cells(mine)} |")
    return "\n".join([*lines, f"| all | | {_cells(outcomes)} |"])


def recall(outcomes: Iterable[Outcome]) -> float | None:
    """Found of all mutants; None if there are none."""
    judged = [each.word == "found" for each in outcomes if each.word in ("found", "missed")]
    return sum(judged) / len(judged) if judged else None


def _cells(outcomes: Sequence[Outcome]) -> str:
    found, missed, not_reached, crashed = (sum(each.word == word for each in outcomes) for word in WORDS)
    share, across = recall(outcomes), [each for each in outcomes if each.across and each.word in ("found", "missed")]
    far = f"{sum(each.word == 'found' for each in across)} / {len(across)}" if across else ""
    shown = "" if share is None else f"{share:.2f}"
    return " | ".join(map(str, (found + missed, found, missed, shown, far, not_reached, crashed)))
