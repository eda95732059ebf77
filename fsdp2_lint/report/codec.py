"""Findings and facts as JSON, and back. The keys of a finding are those of ``check --output-format json``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..vocab.facts import Fact, ranges
from ..vocab.finding import Finding, Fix, Label, Moment, Observed, Project, Seen, Severity, Site
from ..vocab.target import in_digits, parse
from . import spans

_WORD = re.compile(r"[\w.-]+", re.ASCII)
_HIGHEST = 2**31


def finding_as_json(finding: Finding) -> dict[str, Any]:
    """``ranks``, ``step`` and ``fqn`` are there where a job was watched, ``standing`` where a job judged the source.

    ``fingerprint``, ``about`` and ``project`` are there where the source was checked.
    """
    values: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **site_as_json(finding.primary.site),
        "related": [label_as_json(label) for label in finding.related],
        "help": finding.help,
        "fix": fix_as_json(finding.fix) if finding.fix is not None else None,
        "url": finding.url,
    }
    if finding.observed is not None:
        values["label"] = finding.primary.message
        values["ranks"] = ranges(finding.observed.ranks)
        values["step"] = finding.observed.step
        values["fqn"] = finding.observed.fqn or None
    if finding.standing:
        values["standing"] = finding.standing
    if finding.fingerprint:
        values["fingerprint"] = finding.fingerprint
    if finding.about:
        values["about"] = [seen_as_json(seen) for seen in finding.about]
    if finding.project is not None:
        values["project"] = {"folder": finding.project.folder, "markers": list(finding.project.markers)}
    return values


def finding_from_json(values: Mapping[str, Any]) -> Finding:
    """LookupError, TypeError, ValueError or AttributeError if it is none: users name files of all kinds."""
    observed = None
    if "ranks" in values:
        observed = Observed(spans.from_text(values["ranks"]), _step(values.get("step")), text(values.get("fqn") or ""))
    return Finding(
        code=_word(values["code"]),
        name=_word(values["name"]),
        severity=Severity(values["severity"]),
        message=text(values["message"]),
        primary=Label(site_from_json(values), text(values.get("label", ""))),
        related=tuple(Label(site_from_json(each), text(each["message"])) for each in values["related"]),
        help=text(values["help"]),
        observed=observed,
        fingerprint=text(values.get("fingerprint", "")),
        about=tuple(seen_from_json(each) for each in values.get("about", ())),
        project=_project(values["project"]) if "project" in values else None,
    )


def _project(values: Mapping[str, Any]) -> Project:
    return Project(text(values["folder"]), tuple(map(text, values["markers"])))


def seen_as_json(seen: Seen) -> dict[str, Any]:
    """What ``verify`` compares with. The file is told apart from the row: rows move."""
    return {
        "kind": seen.kind,
        "name": seen.name,
        "path": seen.site.path,
        "row": seen.site.row,
        "number": seen.number,
        "of": seen.of,
        "torch": in_digits(seen.torch) if seen.torch is not None else None,
        "verdicts": dict(seen.words),
        "reasons": {code: list(why) for code, why in seen.reasons.items()},
        "scripts": list(seen.scripts),
        "unfollowed": dict(seen.unfollowed),
        "functions": list(seen.functions),
    }


def seen_from_json(values: Mapping[str, Any]) -> Seen:
    """What ``seen_as_json`` wrote. KeyError, TypeError or ValueError where it did not."""
    site = Site(text(values["path"]), number(values["row"]))
    return Seen(
        kind=text(values["kind"]),
        name=text(values["name"]),
        site=site,
        words={code: text(word) for code, word in values["verdicts"].items()},
        reasons={code: tuple(map(text, why)) for code, why in values["reasons"].items()},
        scripts=tuple(map(text, values["scripts"])),
        unfollowed={who: number(count) for who, count in values["unfollowed"].items()},
        functions=dict.fromkeys(map(text, values["functions"]), site),
        number=number(values["number"]),
        of=number(values["of"]),
        torch=parse(values["torch"]) if values["torch"] is not None else None,
    )


def fix_as_json(fix: Fix) -> dict[str, Any]:
    return {"safe": fix.safe, "edits": [{"content": edit.text, **site_as_json(edit.site)} for edit in fix.edits]}


def label_as_json(label: Label) -> dict[str, Any]:
    return {"message": label.message, **site_as_json(label.site)}


def site_as_json(site: Site) -> dict[str, Any]:
    # A site whose end is not known ends where it starts.
    return {
        "filename": site.path,
        **({"cell": site.cell} if site.cell else {}),
        "location": {"row": site.row, "column": site.column},
        "end_location": {"row": site.end_row or site.row, "column": site.end_column if site.end_row else site.column},
    }


def site_from_json(values: Mapping[str, Any]) -> Site:
    start, end = values["location"], values["end_location"]
    row, column, end_row, end_column = map(number, (start["row"], start["column"], end["row"], end["column"]))
    return _site(text(values["filename"]), row, column, end_row, end_column, number(values.get("cell", 0)))


_site = lru_cache(4096)(Site)  # thousands of ranks name the same lines


def moment_as_json(when: Moment) -> dict[str, Any]:
    return {"at": site_as_json(when.at), "stack": [site_as_json(site) for site in when.stack]}


def moment_from_json(values: Mapping[str, Any]) -> Moment:
    return Moment(site_from_json(values["at"]), tuple(map(site_from_json, values["stack"])))


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value


def _word(value: Any) -> str:
    """A code or a name, which is printed as it is."""
    if not _WORD.fullmatch(text(value)):
        raise ValueError(f"{value!r:.40} is not a word")
    return str(value)


def number(value: Any) -> int:
    """Of rows and the like. Thousands of digits, which JSON may have, cannot even be printed."""
    if not isinstance(value, int):
        raise TypeError(f"{type(value).__name__} is not a number")
    if not -_HIGHEST < value < _HIGHEST:
        raise ValueError("a number is too large")
    return value


def _step(value: Any) -> int | None:
    return None if value is None else number(value)


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} is not a table")
    return value


def fact_as_json(fact: Fact) -> dict[str, Any]:
    return {
        "kind": fact.kind,
        "key": fact.key,
        **moment_as_json(fact.when),
        "ranks": ranks_as_text(fact.ranks),
        "values": dict(fact.values),
        "places": {name: site_as_json(site) for name, site in fact.places.items()},
        "traits": dict(fact.traits),
        "step": fact.step,
    }


def fact_in_short(fact: Fact) -> dict[str, Any]:
    """A fact that says what another rank says: the digest stands for what is in that one's report."""
    values = fact_as_json(fact)
    del values["values"], values["places"]
    return {**values, "digest": digest_of(fact)}


def digest_of(fact: Fact) -> str:
    """What ranks have to have in common, in a few letters."""
    text = json.dumps(sorted(fact.values.items()))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def fact_from_json(values: Mapping[str, Any]) -> Fact:
    """Without values and places where only a digest stands for them."""
    return Fact(
        kind=text(values["kind"]),
        key=text(values["key"]),
        when=moment_from_json(values),
        ranks=spans.from_text(values["ranks"]),
        values={} if is_short(values) else _table(values["values"]),
        places={} if is_short(values) else {name: site_from_json(each) for name, each in values["places"].items()},
        traits=_table(values["traits"]),
        step=_step(values["step"]),
    )


def is_short(values: Mapping[str, Any]) -> bool:
    return "values" not in values and bool(text(values["digest"]))


_texts: dict[int, tuple[tuple[int, ...], str]] = {}


def ranks_as_text(ranks: tuple[int, ...]) -> str:
    """``0-6, 8``, and ``0-504/8`` for every eighth: the ranks of a mesh may be thousands."""
    known = _texts.get(id(ranks))  # even to hash them takes longer, and each statement of a mesh has the same object
    if known is None or known[0] is not ranks:
        if len(_texts) > 256:
            _texts.clear()
        known = _texts[id(ranks)] = (ranks, spans.as_text(ranks))
    return known[1]
