"""What a path says of ranks: which of them take it, and what else it asks."""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.formulas import Formula, both, either, is_fork, negate
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import Rank
from ...interpreter.expressions.conditions import mentions_rank
from ...libraries.torch.ranks.rank import INITIALISED

WORDS_OF_RANKS = {"global": "rank", "local": "local rank"}


def reduced(formula: Formula, guard: PathCondition = TRUE) -> Formula:
    """A formula, given that the process group exists (nothing else makes sense here) and ``guard``."""
    if isinstance(formula, bool):
        return formula
    if formula == INITIALISED:
        return True
    if formula[0] == "not":
        return negate(reduced(formula[1], guard))
    if formula[0] == "and":
        return both([reduced(part, guard) for part in formula[1]])
    if formula[0] == "or":
        return either([reduced(part, guard) for part in formula[1]])
    decided = None if mentions_rank(formula) else guard.decide(formula)
    return formula if decided is None else decided


def rank_literal(formula: Formula, truth: bool = True) -> tuple[Formula, bool] | None:
    """The comparison of a rank with a number that surely holds or surely fails where this is so; None if none does."""
    if isinstance(formula, bool):
        return None
    if formula[0] == "not":
        return rank_literal(formula[1], not truth)
    if formula[0] == ("and" if truth else "or"):
        found = (rank_literal(part, truth) for part in formula[1])
        return next((each for each in found if each is not None), None)
    if formula[0] == "is" and isinstance(formula[1], Rank) and formula[1].kind in WORDS_OF_RANKS:
        return (formula, truth) if isinstance(formula[2], int) else None  # another number each time, perhaps
    return None


def rank_in_words(leaf: Formula, truth: bool) -> str:
    rank = WORDS_OF_RANKS[leaf[1].kind]
    return f"{rank} {leaf[2]}" if truth else f"{rank}s other than {leaf[2]}"


def split_by_rank(guard: PathCondition) -> tuple[PathCondition | None, PathCondition]:
    """What a path says of ranks, and the rest of it."""
    ranks: PathCondition | None = None
    rest: PathCondition = TRUE
    for formula, truth in guard.literals:
        part = reduced(formula if truth else negate(formula))
        if mentions_rank(part):
            ranks = (ranks or TRUE).add(part) or ranks
        elif not isinstance(part, bool) and not is_fork(formula):
            rest = rest.add(formula, truth) or rest
    return ranks, rest


def by_one_rank(guard: PathCondition) -> bool:
    """Does one rank of the whole job take this path, and no other?"""
    return any(leaf[1].kind == "global" for leaf in _ranks_asked_for(guard))


def by_rank_zero(guard: PathCondition) -> bool:
    """Does only the first rank of all, or of each node, take this path? Its device is the one that is current."""
    return any(leaf[2] == 0 for leaf in _ranks_asked_for(guard))


def by_first_of_all(guard: PathCondition) -> bool:
    """Does only the first rank of all nodes take this path? Then the global rank is a number of a device, 0."""
    return any(leaf[2] == 0 and leaf[1].kind == "global" for leaf in _ranks_asked_for(guard))


def _ranks_asked_for(guard: PathCondition) -> Iterator[Formula]:
    """The comparisons of a rank with a number that hold on this path."""
    for formula, truth in guard.literals:
        found = rank_literal(reduced(formula if truth else negate(formula)))
        if found is not None and found[1]:
            yield found[0]
