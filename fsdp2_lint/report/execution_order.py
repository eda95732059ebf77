"""Where the ranks of a group part: the first position at which they issue different collectives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass

from ..vocab.facts import Fact
from ..vocab.finding import Moment, Site
from . import branches
from .hangs.stalls import Stall
from .sequences import Issued, Sequence

NOTHING = "nothing"
_Site = tuple[str, int]
_Sites = dict[int, set[_Site]]


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one rank does at the position where the ranks part; None: it has ended.

    ``met``: by chance it is what the others do, and only the line tells them apart.
    """

    rank: int
    issued: Issued | None
    of: Sequence | None = None
    met: bool = False

    @property
    def when(self) -> Moment:
        """Where it is: at what it issues now, or last issued."""
        if self.issued is None and self.of is not None:
            return self.of.issued[max(self.of.issued)].when
        assert self.issued is not None, "only what has ended issues nothing"
        return self.issued.when

    @property
    def text(self) -> str:
        if self.issued is None:
            return NOTHING
        return f"{self.issued.text} at {self.issued.when.at}, {self.issued.by}" if self.met else self.issued.text

    @property
    def chain(self) -> tuple[Site, ...]:
        return self.issued.when.chain if self.issued is not None else ()


def turns(said: Iterable[Sequence], *, alone: bool = False) -> list[tuple[int, Fact]]:
    """One fact of each rank for each group whose ranks part.

    ``parted`` is the reason, where the source tells: a ``guard`` that lets only some ranks through, or another
    ``batch`` of a loop that the others have left. Ranks that went there alone say where, in their places.
    ``alone``: each rank went on after they had parted, as none can that has to wait for the others.
    """
    said = list(said)
    by_group: _Groups = {}
    for each in said:
        by_group.setdefault((each.group, each.ranks), []).append(each)
    came = _came(said)
    found = [fact for group in by_group.values() for fact in _parting(group, came, alone)]
    return found or list(_crossing(by_group, said, came))


def standstill(waiting: Several[Stall], said: Iterable[Sequence]) -> list[tuple[int, Fact]]:
    """The same of ranks that wait in different collectives, each for the others, and what they did while watched."""
    if len({each.by for each in waiting}) < 2:
        return []
    before: dict[int, list[Issued]] = {each.rank: [] for each in waiting}
    said = [each for each in said if each.rank in before]
    for each in said:
        before[each.rank].extend(each.issued.values())
    found = []
    for stall in waiting:
        issued = Issued(stall.by.removesuffix("()"), "", (), stall.when, stall.by, order=1)  # where the rank stands
        found.append(_Turn(stall.rank, issued))
    ranks = tuple(sorted(before))
    return list(_facts("the end", ranks, found, {rank: set() for rank in ranks} | _came(said), before))


def _came(said: Iterable[Sequence]) -> _Sites:
    """Where each rank has been. Ranks that issued the same have one and the same set."""
    own: dict[int, list[frozenset[_Site]]] = {}
    for each in said:
        own.setdefault(each.rank, []).append(each.came)
    known: dict[tuple[int, ...], set[_Site]] = {}
    for several in own.values():
        if (key := tuple(map(id, several))) not in known:
            known[key] = set().union(*several)
    return {rank: known[tuple(map(id, several))] for rank, several in own.items()}


def _different(group: Several[Sequence]) -> list[Sequence]:
    """One for all ranks that issued the same: thousands of them differ in a few ways."""
    found: dict[tuple[int, bool], Sequence] = {}
    for each in group:
        found.setdefault((id(each.issued), each.ended), each)
    return list(found.values())


def _key(site: Site) -> _Site:
    return site.path, site.row


def _parting(group: Several[Sequence], came: _Sites, alone: bool) -> Iterator[tuple[int, Fact]]:
    """The first position of a group at which its ranks differ."""
    few = _different(group)
    first = max(min(each.issued) for each in few)  # what came before was overwritten
    for number in range(first, 1 + max(max(each.issued) for each in few)) if len(few) > 1 else ():
        if not _differ(_at(few, number)):
            continue
        start = number
        while start > first and len({_from(turn) for turn in _at(few, start - 1)}) > 1:
            start -= 1  # they have met by chance since they parted: the same collective, from different lines
        for position in dict.fromkeys((start, number)):
            key = f"group {group[0].group}, collective {position + 1}"
            turns_here = _at(group, position, met=position < number)
            before = _before(group, position)
            found = list(_facts(key, group[0].ranks, turns_here, _so_far(before) if alone else came, before))
            if position == number or any(fact.places for _, fact in found):
                yield from found
                return


def _at(group: Several[Sequence], number: int, *, met: bool = False) -> list[_Turn]:
    return [
        _Turn(each.rank, each.issued.get(number), each, met) for each in group if number in each.issued or each.ended
    ]


def _from(turn: _Turn) -> tuple[_Site, str] | None:
    return (_key(turn.issued.when.at), turn.issued.by) if turn.issued is not None else None


def _before(group: Several[Sequence], number: int) -> dict[int, list[Issued]]:
    few = {id(each.issued): [issued for at, issued in each.issued.items() if at < number] for each in _different(group)}
    return {each.rank: few[id(each.issued)] for each in group}


def _so_far(before: dict[int, list[Issued]]) -> _Sites:
    """Where each rank has been when they part; one set for ranks that issued the same."""
    few = {id(each): {_key(issued.when.at) for issued in each} for each in before.values()}
    return {rank: few[id(each)] for rank, each in before.items()}


_Groups = dict[tuple[str, tuple[int, ...]], list[Sequence]]


def _crossing(by_group: _Groups, said: Several[Sequence], came: _Sites) -> Iterator[tuple[int, Fact]]:
    """Two ranks of which each has issued what the other has not, in different groups: each waits for the other."""
    for group in by_group.values():
        few = _different(group)
        most, least = (pick(few, key=lambda each: max(each.issued)) for pick in (max, min))
        mine, theirs = (_unmatched(said, here.rank, there.rank) for here, there in ((most, least), (least, most)))
        if mine is None or theirs is None:
            continue
        ranks = (most.rank, least.rank)
        found = [_Turn(rank, issued, met=True) for rank, issued in zip(ranks, (mine, theirs))]
        before = {
            each: [issued for one in said if one.rank == each for issued in one.issued.values()] for each in ranks
        }
        yield from _facts("groups", tuple(sorted(ranks)), found, came, before)
        return


def _unmatched(said: Several[Sequence], rank: int, other: int) -> Issued | None:
    """The first that a rank has issued in a group of both, and the other one has not."""
    reached = {each.group: max(each.issued) for each in said if each.rank == other}
    ahead = [
        issued
        for each in said
        if each.rank == rank and other in each.ranks
        for number, issued in each.issued.items()
        if number > reached.get(each.group, -1) and issued.order
    ]
    return min(ahead, key=lambda issued: issued.order, default=None)


def _differ(found: Several[_Turn]) -> bool:
    """A rank that does not know what a collective is for, or does not tell, agrees with the others in it."""
    issued = [turn.issued for turn in found if turn.issued is not None]
    if not all(each.kind for each in issued):
        return False
    kinds, names = {(each.kind, each.size) for each in issued}, {each.names for each in issued if each.names}
    return 0 < len(issued) < len(found) or len(kinds) > 1 or len(names) > 1


def _facts(
    key: str, ranks: tuple[int, ...], found: list[_Turn], came: _Sites, before: dict[int, list[Issued]]
) -> Iterator[tuple[int, Fact]]:
    texts = [turn.text for turn in found]
    firsts: dict[str, _Turn] = {}
    for turn, text in zip(found, texts):
        firsts.setdefault(text, turn)
    if len(firsts) < 2:
        return
    kind, astray, line = "", NOTHING, None
    # The place of a thread in the background is where the main thread happened to be: it gives no reason.
    reasoned = all(turn.issued is None or turn.issued.order for turn in found)
    asked = _ways(found, texts, came) if reasoned else []
    for mine, text in asked:
        other = next(turn for each, turn in firsts.items() if each != text)
        if line is None and (line := _another_batch(mine, other, came, before)) is not None:
            kind, astray = "batch", text
    for mine, text in asked if line is None else ():
        other = next(turn for each, turn in firsts.items() if each != text)
        if line is None and (line := _guarded(mine, other, came)) is not None:
            kind, astray = "guard", text
    for turn, text in zip(found, texts):
        values = {"issued": text}
        traits = {"words": "", "by": "", "size": "", "parted": kind}
        if turn.issued is not None:
            traits |= {"words": turn.issued.words, "by": turn.issued.by, "size": turn.issued.size}
        places = {"issued": line} if line is not None and text == astray else {}
        yield turn.rank, Fact("turn", key, turn.when, ranks, values, places, traits)


def _ways(found: Several[_Turn], texts: Several[str], came: _Sites) -> list[tuple[_Turn, str]]:
    """One turn for all ranks that came to the same by the same way, with its text."""
    few: dict[tuple[int, int, str], tuple[_Turn, str]] = {}
    for turn, text in zip(found, texts):
        few.setdefault((id(turn.issued), id(came.get(turn.rank)), text), (turn, text))
    return list(few.values())


def _another_batch(mine: _Turn, other: _Turn, came: _Sites, before: dict[int, list[Issued]]) -> Site | None:
    """The forward of a batch, in a loop that the other rank has left after it was here as well."""
    if mine.issued is None or mine.issued.by != "forward":
        return None
    here = _key(mine.issued.when.at)
    if not any(_key(issued.when.at) == here and issued.by == "forward" for issued in before[other.rank]):
        return None
    index, aside = _parted(mine, other)
    for depth, site in enumerate(mine.chain[index:]):
        if branches.is_forward(site):
            return None  # its loops go through layers, not through batches
        if branches.loop(site, aside if not depth else None):
            return mine.issued.when.at
        if _guarded(other, mine, came) is not None:
            return None  # it is the other one that does more, between two calls of the function with the loop
    return None


def _guarded(mine: _Turn, other: _Turn, came: _Sites) -> Site | None:
    """The place at which a condition let only some ranks through, if the other one never came here."""
    if mine.issued is None or other.rank not in came or _key(mine.issued.when.at) in came[other.rank]:
        return None
    index, aside = _parted(mine, other)
    guards = [
        (branches.guard(site, aside if not depth else None), site) for depth, site in enumerate(mine.chain[index:])
    ]
    return next((site for wanted in ("rank", "yes") for found, site in guards if found == wanted), None)


def _parted(mine: _Turn, other: _Turn) -> tuple[int, Site | None]:
    """How deep the two ranks are in the same calls, and where the other one is there."""
    for index, (here, there) in enumerate(zip(mine.chain, other.chain)):
        if _key(here) != _key(there):
            return index, there
    return min(len(mine.chain), len(other.chain)), None
