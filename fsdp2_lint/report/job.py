"""What the ranks of a job say together."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..files.reading import reason_of
from ..vocab.facts import Fact, in_words
from ..vocab.finding import Finding, Observed, Severity, Site
from ..vocab.overlaps import without_consequences
from ..vocab.rule import Rule, agree
from .codec import fact_from_json, finding_from_json, site_from_json
from .execution_order import standstill, turns
from .rank_file import VERSION, rank_files, records
from .sequences import Sequence as Issues
from .sequences import sequences
from .sound import is_sound
from .stalls import Stall, all_wait, stalls, stands

CLEAN, FOUND, NOTHING_CHECKED = 0, 1, 3
_MILD_FIRST = (Severity.INFO, Severity.WARNING, Severity.ERROR)


@dataclass(frozen=True, slots=True)
class Crash:
    """What ended the script on some ranks. ``code`` names the clause behind one of torch's own errors."""

    error: str
    ranks: tuple[int, ...]
    code: str = ""
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """What one clause came to on one model, over all ranks."""

    code: str
    model: str
    word: str
    reasons: tuple[str, ...] = ()
    judged: Site | None = None


@dataclass(slots=True)
class JobReport:
    """``ended`` has the exit code of each rank that came to its end, ``failed`` that of the first to fail, or 0."""

    findings: list[Finding] = field(default_factory=list)
    verdicts: list[JobVerdict] = field(default_factory=list)
    crashes: list[Crash] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ranks: tuple[int, ...] = ()
    world_size: int = 0
    steps: int = 0
    ended: dict[int, int] = field(default_factory=dict)
    failed: int = 0
    sharded: bool = False

    @property
    def exit_code(self) -> int:
        if self.findings:
            return FOUND
        return CLEAN if self.sharded else NOTHING_CHECKED


@dataclass(slots=True)
class _Said:
    """All records of all ranks, sorted by what they are about."""

    findings: list[tuple[int, Finding]] = field(default_factory=list)
    facts: list[tuple[int, Fact]] = field(default_factory=list)
    issued: dict[int, list[Issues]] = field(default_factory=dict)
    stalls: dict[int, list[Stall]] = field(default_factory=dict)
    crashes: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    failed: dict[int, tuple[float, int]] = field(default_factory=dict)
    verdicts: dict[tuple[str, str, Site], dict[int, Mapping[str, Any]]] = field(default_factory=dict)


def read_job(folder: Path, rules: Sequence[Rule], *, since: float = 0.0) -> JobReport:
    """Merge the files of all ranks in ``folder``, or those written after ``since``, in seconds of the epoch.

    Raises OSError where there are none or where they cannot be read.
    """
    report, said = JobReport(), _Said()
    read = _read(report, folder, since)
    if not read:
        raise FileNotFoundError(f"{folder}: no reports of ranks in here")
    newest = max(read, key=lambda each: (_start(each[3]) is not None, each[0]))
    current = _start(newest[3]) or {}
    report.world_size = current.get("world_size", 0)
    spoke: set[int] = set()
    for _, rank, path, own in read:
        start = _start(own)
        if start is None or start.get("run") != current.get("run") or start.get("version") != VERSION:
            continue  # of another job, or of another version of this tool
        if rank >= report.world_size:
            continue
        spoke.add(rank)
        report.ended.pop(rank, None)  # of an earlier attempt
        said.failed.pop(rank, None)
        said.issued[rank], said.stalls[rank] = sequences(rank, path, own), stands(rank, own)
        for record in own:
            _sort(report, said, rank, record)
    report.ranks = tuple(sorted(spoke))
    _complete(report, {rank for rank, _ in said.crashes})
    issued = [each for rank in said.issued for each in said.issued[rank]]
    stood = [each for rank in said.stalls for each in said.stalls[rank]]
    facts = [*said.facts, *turns(issued), *stalls(stood)]
    if not any(fact.kind == "turn" for _, fact in facts):  # later than the watched steps
        facts += standstill(all_wait(stood, report.world_size), issued)
    report.findings = merge([*said.findings, *_disagreements(facts, rules, report)])
    report.verdicts = [_verdict(key, by_rank) for key, by_rank in sorted(said.verdicts.items())]
    report.crashes = _crashes(said.crashes)
    report.failed = min(said.failed.values())[1] if said.failed else 0
    return report


def _read(report: JobReport, folder: Path, since: float) -> list[tuple[float, int, Path, list[dict[str, Any]]]]:
    """When each rank's file was written, whose it is, and what it holds that can be used."""
    found = []
    for rank, _, path in rank_files(folder):
        try:
            written = path.stat().st_mtime
            own = list(records(path)) if written >= since - 1 else []
        except OSError as error:
            _note(report, f"the report of rank {rank} {reason_of(error)}")
            continue
        if written >= since - 1:
            found.append((written, rank, path, [record for record in own if is_sound(record)]))
            if len(found[-1][3]) < len(own):
                _note(report, f"a damaged record of rank {rank} is left out")
    return found


def _start(own: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The first record of a rank's file, if that is what it ought to be."""
    return own[0] if own and own[0]["record"] == "start" and "world_size" in own[0] else None


def _sort(report: JobReport, said: _Said, rank: int, record: Mapping[str, Any]) -> None:
    kind = record["record"]
    if kind == "finding":
        said.findings.append((rank, finding_from_json(record)))
    elif kind == "fact":
        said.facts.append((rank, fact_from_json(record)))
    elif kind == "verdict" and "model" in record:
        key = (record["code"], record["model"], site_from_json(record["at"]))
        said.verdicts.setdefault(key, {})[rank] = record
    elif kind == "crash":
        said.crashes.append((rank, record))
    elif kind == "sharded":
        report.sharded = True
    elif kind in ("step", "closed"):
        report.steps = max(report.steps, record["steps"])
    elif kind == "end":
        report.ended[rank] = record["code"]
        if record["code"]:
            said.failed[rank] = (record.get("time", 0.0), record["code"])
    elif kind == "missing":
        _note(report, f"not checked, since this torch has no {record['what']}: {', '.join(record['codes'])}")
    elif kind == "not_compared":
        _note(report, f"not compared before the first forward, since some ranks said nothing: {record['kind']}")
    elif kind == "defect":
        _note(report, f"a check broke down in {record['where']}: {record['error']} (please report it)")


def _note(report: JobReport, text: str) -> None:
    if text not in report.notes:
        report.notes.append(text)


def _complete(report: JobReport, crashed: Container[int]) -> None:
    silent = tuple(rank for rank in range(report.world_size) if rank not in report.ranks)
    if silent:
        _note(report, f"no report of {in_words(silent)}")
    cut = tuple(rank for rank in report.ranks if rank not in report.ended)
    if cut:
        _note(report, f"the report of {in_words(cut)} has no end")
    for code in sorted(set(report.ended.values()) - {0}):
        if left := tuple(rank for rank, own in report.ended.items() if own == code and rank not in crashed):
            _note(report, f"{in_words(left)} ended with exit code {code}")


def merge(findings: Iterable[tuple[int, Finding]]) -> list[Finding]:
    """One finding for one code on one line, with all ranks that saw it.

    Where ranks weigh it differently the milder one counts: it rests on more knowledge, as with a
    file whose name only the higher ranks can tell to be their own.
    """
    merged: dict[tuple[str, str, int], Finding] = {}
    for rank, finding in findings:
        seen = finding.observed or Observed((rank,))
        known = merged.get(finding.key)
        if known is None or known.observed is None:
            merged[finding.key] = replace(finding, observed=seen)
            continue
        milder = min(known, finding, key=lambda each: _MILD_FIRST.index(each.severity))
        steps = [step for step in (known.observed.step, seen.step) if step is not None]
        ranks = tuple(sorted({*known.observed.ranks, *seen.ranks}))
        together = Observed(ranks, min(steps, default=None), known.observed.fqn or seen.fqn)
        merged[finding.key] = replace(milder, observed=together)
    found = without_consequences(list(merged.values()), {key: {"job"} for key in merged})
    return sorted(found, key=lambda each: (each.primary.site, each.code))


def _disagreements(
    facts: Iterable[tuple[int, Fact]], rules: Sequence[Rule], report: JobReport
) -> list[tuple[int, Finding]]:
    found, broken = disagreements(facts, rules)
    for code, error in broken:
        _note(report, f"a check broke down in {code}: {error} (please report it)")
    return found


def disagreements(
    facts: Iterable[tuple[int, Fact]], rules: Sequence[Rule]
) -> tuple[list[tuple[int, Finding]], list[tuple[str, Exception]]]:
    """Compare what the ranks said. What a rank said of one thing in several facts is put together first."""
    by_key: dict[tuple[str, str], list[dict[int, Fact]]] = {}
    for rank, fact in facts:
        _side_by_side(by_key.setdefault((fact.kind, fact.key), []), rank, fact)
    found: list[tuple[int, Finding]] = []
    broken: list[tuple[str, Exception]] = []
    for said in (group for groups in by_key.values() for group in groups):
        findings, broke = agree(rules, said)
        ranks = tuple(sorted(said))
        step = min((fact.step for fact in said.values() if fact.step is not None), default=None)
        found.extend((ranks[0], replace(each, observed=Observed(ranks, step))) for each in findings)
        broken.extend(broke)
    return found, broken


def _side_by_side(groups: list[dict[int, Fact]], rank: int, fact: Fact) -> None:
    """Put a fact to those of ranks that ought to agree with its own, by what either of them says.

    Stages of a pipeline and shards of tensors have meshes of their own, and nothing in common. Of
    one thing a rank may have said several parts.
    """
    concerned = [
        said for said in groups if any(other in fact.ranks or rank in one.ranks for other, one in said.items())
    ]  # fmt: skip
    together: dict[int, Fact] = {}
    for said in concerned:
        groups.remove(said)
        together |= said
    if (known := together.get(rank)) is not None:
        values = {**known.values, **fact.values}
        fact = replace(known, values=values, places={**known.places, **fact.places})
    together[rank] = fact
    groups.append(together)


def _verdict(key: tuple[str, str, Site], by_rank: Mapping[int, Mapping[str, Any]]) -> JobVerdict:
    words = [record["word"] for record in by_rank.values()]
    word = next(each for each in ("violated", "unknown", "upheld") if each in words)
    reasons = tuple(dict.fromkeys(reason for record in by_rank.values() for reason in record["reasons"]))
    judged = next((site_from_json(site) for record in by_rank.values() for site in record["judged"]), None)
    return JobVerdict(key[0], key[1], word, reasons, judged)


def _crashes(said: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Crash]:
    by_error: dict[str, tuple[list[int], Mapping[str, Any]]] = {}
    for rank, record in said:
        by_error.setdefault(record["error"], ([], record))[0].append(rank)
    return [
        Crash(error, tuple(ranks), record.get("code", ""), record.get("why", ""), record.get("fix", ""))
        for error, (ranks, record) in by_error.items()
    ]
