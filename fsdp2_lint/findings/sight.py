"""Does the analysis see as much of what a finding was about as before the edit, and is the rule proved now?

A finding that is gone may be fixed, or out of sight. The first needs a proof: the rule is upheld for the same model.
For the second there are many ways, so it is not looked for in the edit. What was seen before is compared with what is
seen now: models, scripts, verdicts, calls that were not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fsdp2_lint.catalogue.codes import OWN_CODES
from fsdp2_lint.files import functions, syntax
from fsdp2_lint.files.source import display_path

if TYPE_CHECKING:
    from fsdp2_lint.findings.outcome import Report
    from fsdp2_lint.vocab.finding import Finding, Seen

Word = Literal["upheld", "violated", "unknown", "not judged", "not seen"]
_NUMBER = re.compile(r"\b\d+\b")


@dataclass(frozen=True, slots=True)
class Standing:
    """How the rule of a finding that is gone stands now: ``upheld`` is the proof that it is mended.

    ``as_before``: of all that the finding is about no less is seen than before. ``reasons`` say why it is not proved.
    """

    verdict: Word
    as_before: bool
    reasons: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        return self.verdict == "upheld" and self.as_before


def standing(finding: Finding, now: Report) -> Standing:
    """Of one finding that is gone, judged by what ``now`` saw with nothing hidden."""
    if finding.code in OWN_CODES:
        return _of_file(finding.code, finding.primary.site.path, now)
    if not finding.about:
        return Standing("not seen", False, (_no_record(finding),))
    less: dict[str, None] = {}
    still: dict[str, None] = {}
    words: set[str] = set()
    for before in finding.about:
        found = [*_the_same(before, now)]
        if not found:
            less[f"{_name(before)} is not seen any more"] = None
        for seen in found:
            words.add(seen.words.get(finding.code, "not judged"))
            less.update(dict.fromkeys((*_less(before, seen, finding.code), *_idle(before, seen, now))))
            still.update(dict.fromkeys(seen.reasons.get(finding.code, ())))
    word = _weakest(words)
    if less or word == "violated":
        return Standing(word, False, tuple(less) or (f"{_names(finding)} still violates {finding.code}",))
    return Standing(word, True, _not_proved(word, tuple(still)))


def _no_record(finding: Finding) -> str:
    if finding.observed is not None:
        return "only a job shows it"
    return "what was seen before the edit is not in the file: an older version wrote it"


def _of_file(code: str, path: str, now: Report) -> Standing:
    """Syntax and comments: the file itself is the proof, if it was read."""
    if path not in now.files:
        return Standing("not seen", False, (f"{display_path(path)} is not there any more",))
    unread = (*now.failures, *now.notes) if code != syntax.CODE else ()  # without all files no comment is judged
    return Standing("not seen" if unread else "upheld", not unread, unread)


def _the_same(before: Seen, now: Report) -> Iterator[Seen]:
    """The same model or program now. Where more than before have its name, any of them may be it."""
    alike = [each for each in now.seen if each.identity == before.identity]
    if len(alike) == before.of:
        yield next(each for each in alike if each.number == before.number)
    elif len(alike) > before.of:
        yield from alike
    elif before.kind == "file" and before.site.path in now.files:
        from fsdp2_lint.vocab.finding import Seen

        yield Seen("file", before.name, before.site)  # without FSDP2 by now: there is nothing to see in it


def _less(before: Seen, seen: Seen, code: str) -> Iterator[str]:
    """What is seen less of it, in words."""
    for script in sorted({*before.scripts} - {*seen.scripts}):
        yield f"{display_path(script)} does not lead to {_name(before)} any more"
    known = _counted(before.unfollowed)
    for who, count in _counted(seen.unfollowed).items():
        if count > known.get(who, 0):
            yield f"not followed, and not there before the edit: {who}"
    yield from _unproved(before, seen, code)


def _unproved(before: Seen, seen: Seen, code: str) -> Iterator[str]:
    """What was known of rules and is not any more: each reason once, with all rules that it is said of."""
    lost: dict[tuple[str, str], list[str]] = {}
    for each, word in before.words.items():
        if each != code and word != "upheld":
            continue  # nothing was proved of it, or it has a finding of its own
        if each not in seen.words and each != code and not _instead(each, before, seen):
            lost.setdefault((word, "not judged any more"), []).append(each)
        elif seen.words.get(each) == "unknown":
            for why in seen.reasons.get(each, ()):
                if not _among(why, before.reasons.get(each, ())):
                    lost.setdefault((word, f"unknown now: {why}"), []).append(each)
    for (word, now), codes in lost.items():
        was, is_now = ("was", "is") if len(codes) == 1 else ("were", "are")
        yield f"{', '.join(codes)} {was} {word} and {is_now} {now}"


def _instead(code: str, before: Seen, seen: Seen) -> bool:
    """Is something else of its hundred there now, and right: a save by DCP where ``torch.save`` was?"""
    hundred = code[: -len("00")]
    return any(
        each.startswith(hundred) and word == "upheld" and each not in before.words for each, word in seen.words.items()
    )


def _idle(before: Seen, seen: Seen, now: Report) -> Iterator[str]:
    """Functions around the place of the fault that are still there, and are empty or not run any more.

    Where one was deleted with all its calls, the fault went with it; but what a file alone shows may be elsewhere now.
    """
    for function in before.functions:
        path, _, name = function.rpartition(":")
        held = functions.in_text(now.sources.data(path)).get(name)
        if held is not None and functions.empty(held):
            yield f"{name}() in {display_path(path)}, where it was found, is empty now"
        elif held is not None and before.kind != "file" and function not in seen.functions:
            yield f"{name}() in {display_path(path)}, where it was found, does not run any more"
        elif held is None and before.kind == "file":
            yield f"{name}(), where it was found, is not in {display_path(path)} any more"


def _counted(calls: Mapping[str, int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for who, count in calls.items():
        counts[_unplaced(who)] = counts.get(_unplaced(who), 0) + count
    return counts


def _among(reason: str, others: Iterable[str]) -> bool:
    return _unplaced(reason) in {_unplaced(other) for other in others}


def _unplaced(text: str) -> str:
    """Without line numbers, which move, and without numbers of steps."""
    return _NUMBER.sub("N", text)


def _weakest(words: set[str]) -> Word:
    order: Sequence[Word] = ("violated", "unknown", "not judged", "upheld")
    return next((word for word in order if word in words), "not seen")


def _not_proved(word: Word, still: tuple[str, ...]) -> tuple[str, ...]:
    """Why exit code 0 is right although nothing is proved."""
    if word == "unknown":
        return ("what is left of its rule was not decided before the edit either, for the same reason", *still)
    if word == "not judged":
        return ("nothing is left there that its rule judges",)
    return ()


def _names(finding: Finding) -> str:
    return ", ".join(map(_name, finding.about))


def _name(seen: Seen) -> str:
    path = display_path(seen.site.path)
    return f"{seen.name} ({path})" if seen.kind == "model" or os.path.basename(path) != seen.name else path
