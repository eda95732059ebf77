"""What the ranks of a job say together."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..collector import paused
from ..files.reading import reason_of
from ..vocab.facts import Fact, in_words
from ..vocab.finding import Finding, Site
from ..vocab.rule import Rule
from .codec import fact_from_json, site_from_json
from .execution_order import standstill, turns
from .findings import compare, merge
from .hangs.farewells import Farewell, farewell, in_notes, seen
from .hangs.stalls import Stall, all_wait, meetings, pauses, stalls, stands
from .lines import Line, Lines, in_full, written_by
from .outcome import Crash, JobReport, JobVerdict, Origin, Stop
from .processes import Generation, Process, Run, newest_run
from .rank_file import rank_files
from .sequences import Sequence as Issues
from .sequences import Shared
from .statements import Voice, voices_of


@dataclass(slots=True)
class _Said:
    """All records of all ranks, sorted by what they are about."""

    findings: list[tuple[int, Finding]] = field(default_factory=list)
    facts: list[tuple[tuple[int, ...], Line]] = field(default_factory=list)
    seen: list[tuple[int, Fact]] = field(default_factory=list)  # by a watcher
    issued: dict[int, list[Issues]] = field(default_factory=dict)
    stalls: dict[int, list[Stall]] = field(default_factory=dict)
    gone: dict[int, Farewell | None] = field(default_factory=dict)
    crashes: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    failed: dict[int, tuple[float, int]] = field(default_factory=dict)
    verdicts: dict[tuple[str, str, Site], dict[int, Mapping[str, Any]]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)  # what a rule needs, and this torch does not have


@paused()
def read_job(folder: Path, rules: Sequence[Rule]) -> JobReport:
    """Merge the files of all processes in a job's folder; of several runs of one name, those of the newest.

    Raises OSError where there are none or where they cannot be read.
    """
    report, said, lines = JobReport(), _Said(), Lines()
    if not rank_files(folder):
        raise FileNotFoundError(f"{folder}: no reports of ranks in here")
    if found := _read(report, lines, folder):
        run = newest_run(found)
        report.world_size, report.earlier = run.newest.world_size, run.earlier
        report.origin = _origin(run.newest)
        report.rehearsed = _rehearsed(run.newest)
        if report.rehearsed:
            rules = [rule for rule in rules if "P" in rule.judged_by]
        for part in run.parts:
            _take(report, said, lines, part)
        _say_rivals(report, run)
    else:
        report.complete = False
    _complete(report, {rank for rank, _ in said.crashes} | report.stopped.keys())
    report.all_judged = len(said.closed) == len(report.rehearsed or range(report.world_size))
    issued = [each for rank in said.issued for each in said.issued[rank]]
    stood = [each for rank in said.stalls for each in said.stalls[rank]]
    met = meetings(stood)
    _tell(report, said, pauses(met))
    derived = [*said.seen, *turns(issued, alone=bool(report.rehearsed)), *stalls(met)]
    if not any(fact.kind == "turn" for _, fact in derived):  # later than the watched steps
        derived += standstill(all_wait(stood, report.world_size), issued)
    stated, lost = in_full(said.facts)
    for ranks, fact in lost:
        _note(report, f"not compared: the {fact.kind} of {in_words(ranks)}, which no report has in full")
    # What all ranks together differ in comes first: while they ran, a rank knew of one other rank.
    report.findings = merge([*_disagreements([*stated, *voices_of(derived)], rules, report), *said.findings])
    report.verdicts = [_verdict(key, by_rank, said.missing) for key, by_rank in sorted(said.verdicts.items())]
    report.crashes = _crashes(said.crashes)
    report.failed = min(said.failed.values())[1] if said.failed else 0
    return report


def _read(report: JobReport, lines: Lines, folder: Path) -> list[Process]:
    """The files of all processes that said who they are, without what cannot be used of them."""
    found = []
    for path in rank_files(folder):
        try:
            written, whole = path.stat().st_mtime, lines.add(path)
        except OSError as error:
            _note(report, f"{path.name} {reason_of(error)}")
            report.complete = False
            continue
        if not whole:
            _note(report, f"a damaged record in {path.name} is left out")
            report.complete = False  # it may have been a finding
        if (start := lines.start(path)) is not None:
            found.append(Process(path, lines.rare(path), start, written))
    return [each for each in found if each.is_of_this_version]


def _take(report: JobReport, said: _Said, lines: Lines, part: Generation) -> None:
    """What the ranks of one part of the run say. How it ended is up to the last part in which a rank was."""
    held = {rank: each for rank, each in sorted(part.ranks().items()) if rank < report.world_size}
    report.ranks = tuple(sorted({*report.ranks, *held}))
    said.closed -= held.keys()  # of an earlier part
    for number, ranks in written_by((rank, lines.of[each.path]) for rank, each in held.items()).items():
        _sort(report, said, ranks, lines[number])
    shared = Shared(lines)
    for rank, process in held.items():
        report.ended.pop(rank, None)
        said.failed.pop(rank, None)
        watched = seen(process.path, process.records)
        said.issued[rank] = shared.sequences(rank, process.path, process.records)
        said.stalls[rank] = stands(rank, process.records, watched)
        said.gone[rank] = farewell(rank, process.path, process.records, watched)
        said.seen += [(rank, fact_from_json(record)) for record in watched if record["record"] == "fact"]
        for record in process.records:
            if record["record"] == "closed":
                said.closed.add(rank)
            if record["record"] == "end":
                report.ended[rank] = record["code"]
                if record["code"]:
                    said.failed[rank] = (record.get("time", 0.0), record["code"])


def _origin(part: Generation) -> Origin:
    start = min(part.members, key=lambda each: each.rank).start
    words = (str(start.get(name, "")) for name in ("script", "folder", "commit"))
    script, folder, commit = words
    return Origin(script, tuple(start.get("arguments", ())), folder, commit)


def _rehearsed(part: Generation) -> tuple[int, ...]:
    """The ranks that were to be rehearsed; none in a job whose ranks were all there."""
    return tuple(sorted({rank for each in part.members for rank in each.start.get("rehearsed", ())}))


def _say_rivals(report: JobReport, run: Run) -> None:
    held = run.newest.ranks()
    for rank in sorted({rank for rank, _ in run.rivals}):
        left = sorted(each.path.name for other, each in run.rivals if other == rank)
        holder = held[rank].path.name
        _note(
            report,
            f"{len(left) + 1} processes say that they are rank {rank}: this is {holder} without {', '.join(left)}",
        )
    report.complete = report.complete and not run.rivals


def _sort(report: JobReport, said: _Said, ranks: tuple[int, ...], line: Line) -> None:
    """What a line says, once for all ranks that wrote it."""
    record, kind = line.record, line.kind
    if isinstance(line.holds, Finding):
        _sort_finding(said, ranks, line.holds)
    elif isinstance(line.holds, Fact):
        said.facts.append(((record["of"],) if "of" in record else ranks, line))
    elif kind == "verdict" and "model" in record:
        key = (record["code"], record["model"], site_from_json(record["at"]))
        said.verdicts.setdefault(key, {}).update(dict.fromkeys(ranks, record))
    elif kind == "crash":
        said.crashes.extend((rank, record) for rank in ranks)
    elif kind == "sharded":
        report.sharded = True
    elif kind in ("step", "closed"):
        report.steps = max(report.steps, record["steps"])
    elif kind == "files":
        report.files.update(record["paths"])
    elif kind == "cut":
        report.complete = False
        _note(
            report, f"what {in_words(ranks)} issued could not be written down to its end: collectives are not compared"
        )
    elif kind == "stopped":
        report.stopped.update(dict.fromkeys(ranks, Stop(record["why"], record.get("path", ""), record.get("row", 0))))
    elif kind == "missing":
        _note(report, f"not checked, since this torch has no {record['what']}: {', '.join(record['codes'])}")
        said.missing.update(dict.fromkeys(record["codes"], record["what"]))
    elif kind == "unwatched":
        _note(report, f"the ranks of a node were not watched from outside: {record['why']}")
    elif kind == "said":
        report.said.add((record["key"][0], record["key"][1], record["key"][2]))
    elif kind == "not_compared":
        _note(report, f"not compared before the first forward, since some ranks said nothing: {record['kind']}")
    elif kind == "defect":
        _note(report, f"a check broke down in {record['where']}: {record['error']} (please report it)")


def _sort_finding(said: _Said, ranks: tuple[int, ...], finding: Finding) -> None:
    seen = finding.observed
    if seen is not None and not seen.ranks:  # each of these ranks named itself
        finding = replace(finding, observed=replace(seen, ranks=ranks))
    said.findings.append((ranks[0], finding))


def _note(report: JobReport, text: str) -> None:
    if text not in report.notes:
        report.notes.append(text)


def _tell(report: JobReport, said: _Said, paused: list[str]) -> None:
    """What is no finding, and explains what became of the job."""
    gone = in_notes(filter(None, said.gone.values()), (ended for ended, _ in said.failed.values()))
    report.pauses = paused
    for text in (*gone, *paused):
        _note(report, text)


def _complete(report: JobReport, crashed: Container[int]) -> None:
    if silent := tuple(sorted(set(report.rehearsed or range(report.world_size)) - set(report.ranks))):
        report.complete = False
        _note(report, f"no report of {in_words(silent)}")
    if cut := tuple(rank for rank in report.ranks if rank not in report.ended):
        report.complete = False
        if untold := tuple(rank for rank in cut if rank not in report.stopped):
            _note(report, f"the report of {in_words(untold)} has no end")
    for code in sorted(set(report.ended.values()) - {0}):
        if left := tuple(rank for rank, own in report.ended.items() if own == code and rank not in crashed):
            _note(report, f"{in_words(left)} ended with exit code {code}")


def _disagreements(voices: Iterable[Voice], rules: Sequence[Rule], report: JobReport) -> list[tuple[int, Finding]]:
    found, broken = compare(voices, rules)
    for code, error in broken:
        _note(report, f"a check broke down in {code}: {error} (please report it)")
    return found


def _verdict(
    key: tuple[str, str, Site], by_rank: Mapping[int, Mapping[str, Any]], missing: Mapping[str, str]
) -> JobVerdict:
    said = list({id(record): record for record in by_rank.values()}.values())
    word = next(each for each in ("violated", "unknown", "upheld") if any(each == one["word"] for one in said))
    reasons = tuple(dict.fromkeys(reason for record in said for reason in record["reasons"]))
    judged = next((site_from_json(site) for record in said for site in record["judged"]), None)
    if word == "upheld" and key[0] in missing:  # by what could be seen
        word, reasons = "unknown", (f"this torch has no {missing[key[0]]}",)
    return JobVerdict(key[0], key[1], word, reasons, judged, key[2])


def _crashes(said: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Crash]:
    by_error: dict[str, tuple[list[int], Mapping[str, Any]]] = {}
    for rank, record in said:
        by_error.setdefault(record["error"], ([], record))[0].append(rank)
    return [
        Crash(error, tuple(ranks), record.get("code", ""), record.get("why", ""), record.get("fix", ""))
        for error, (ranks, record) in by_error.items()
    ]
