"""Torch's names: one public name for each object, and what FSDP2's part of torch has in which version."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from ...vocab.target import Version, in_words, parse

# -- Torch's names: one public name for each object, whatever path it was imported by
_MOVED = [
    (r"torch\.distributed\._composable\.fsdp\.fully_shard\.(\w+)$", r"torch.distributed.fsdp.\1"),
    (r"torch\.distributed\._composable\.fsdp(\.|$)", r"torch.distributed.fsdp\1"),
    (r"torch\.distributed\.fsdp\._fully_shard(\.\w+)*\.(\w+)$", r"torch.distributed.fsdp.\2"),
    (r"torch\.distributed\.fsdp\.(?:api|fully_sharded_data_parallel)\.(\w+)$", r"torch.distributed.fsdp.\1"),
    (r"torch\.distributed\.(?:init_device_mesh|DeviceMesh)$", None),
    (r"torch\.distributed\.(?:distributed_c10d|c10d_logger|_functional_collectives)\.(\w+)$", r"torch.distributed.\1"),
    (r"torch\.distributed\.(?:_tensor|tensor\._api|_tensor\.api)\.(\w+)$", r"torch.distributed.tensor.\1"),
    (r"torch\.distributed\.checkpoint\.state_dict_(?:saver|loader)\.(\w+)$", r"torch.distributed.checkpoint.\1"),
    (r"torch\.nn\.modules\.(?:\w+\.)?([A-Z]\w+)$", r"torch.nn.\1"),
    (r"torch\.nn\.parallel\.distributed\.(\w+)$", r"torch.nn.parallel.\1"),
    (r"torch\.nn\.utils\.clip_grad\.(\w+)$", r"torch.nn.utils.\1"),
    (r"torch\.optim\.(?!lr_scheduler|swa_utils)[a-z_]\w*\.([A-Z]\w+)$", r"torch.optim.\1"),
    (r"torch\.(?:_C\.)?_distributed_c10d\.(\w+)$", r"torch.distributed.\1"),
]  # fmt: skip
_RULES = [(re.compile(pattern), to) for pattern, to in _MOVED]


# Second names of dtypes, read off torch 2.13: one object each.
_DTYPES = {
    f"torch.{name}": f"torch.{other}"
    for name, other in {
        "half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64",
        "chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128",
    }.items()
}  # fmt: skip


def canonical(qname: str) -> str:
    if not qname.startswith("torch."):
        return qname
    if qname in _DTYPES:
        return _DTYPES[qname]
    for pattern, to in _RULES:
        if to is None:
            if pattern.match(qname):
                return qname.replace("torch.distributed.", "torch.distributed.device_mesh.")
        elif pattern.match(qname):
            return pattern.sub(to, qname)
    return qname


def is_torch(module: str) -> bool:
    """May it be a module of torch, by its name?"""
    return module.startswith("torch")


_FILE = Path(__file__).with_suffix(".json")
MODULE_CLASS = "torch.distributed.fsdp.FSDPModule"
ANY = "**"  # takes any keyword
_FSDP = "torch.distributed.fsdp."
_STRICT = {
    *(f"{_FSDP}{name}" for name in ("fully_shard", "MixedPrecisionPolicy", "CPUOffloadPolicy", "OffloadPolicy")),
    "torch.distributed.device_mesh.init_device_mesh",
}

History = list[tuple[Version, bool]]
"""From which version on something is there, or is not."""


@cache
def _rows(kind: str) -> dict[str, list[tuple[Version, Any]]]:
    table = json.loads(_FILE.read_text(encoding="utf-8"))
    return {name: [(parse(since), value) for since, value in rows] for name, rows in table[kind].items()}


@cache
def varying_keywords() -> dict[str, frozenset[str]]:
    """For each function or class, the keywords that some versions have and others have not."""
    found = {}
    for name, rows in _rows("callables").items():
        given = [set(value) for _, value in rows if value is not None]
        always = set.intersection(*given)
        found[name] = frozenset(set.union(*given) - always - {"*", ANY})
    return {name: keywords for name, keywords in found.items() if keywords}


@cache
def varying_methods() -> frozenset[str]:
    """Methods of FSDPModule that some versions do not have."""
    prefix = f"{MODULE_CLASS}."
    (oldest, _), *_ = _rows("modules")["torch.distributed.fsdp"]
    return frozenset(
        name.removeprefix(prefix)
        for name, rows in _rows("callables").items()
        if name.startswith(prefix) and (rows[0][0] > oldest or len(rows) > 1)
    )


def always_takes(name: str, keywords: set[str]) -> bool:
    """Does a function or class take these in every version that has FSDP2?"""
    rows = _rows("callables").get(name, [])
    return bool(rows) and all(value is not None and keywords <= {*value} for _, value in rows)


def keywords_in_versions(name: str) -> list[set[str]]:
    """What a function takes in each version that has another list of it; nothing where it is not known or takes any."""
    given = [set(value) - {"*"} for _, value in _rows("callables").get(name, []) if value is not None]
    return [] if any(ANY in names for names in given) else given


def invented_keywords(name: str, keywords: set[str]) -> set[str]:
    """Those that no version takes, where the function or class is of FSDP2 itself and takes only what it names."""
    known = keywords_in_versions(name) if name in _STRICT else []
    return keywords.difference(*known) if known else set()


def history_of_keyword(name: str, keyword: str) -> History:
    return [
        (since, value is not None and (keyword in value or ANY in value)) for since, value in _rows("callables")[name]
    ]


def history_of_method(name: str) -> History:
    return [(since, value is not None) for since, value in _rows("callables")[f"{MODULE_CLASS}.{name}"]]


def history_of_export(module: str, name: str) -> History | None:
    """None if no version exports it, or nothing is known of the module."""
    rows = _rows("modules").get(module, [])
    found = [(since, name in value) for since, value in rows]
    return found if any(there for _, there in found) else None


def may_export(module: str, name: str) -> bool:
    """Is it exported in some version, or nothing known of the module?"""
    return module not in _rows("modules") or history_of_export(module, name) is not None


def _known(version: Version) -> Version:
    """What came before the first that is known was like that."""
    (oldest, _), *_ = _rows("modules")["torch.distributed.fsdp"]
    return max(version, oldest)


def _is_there(history: History, version: Version) -> bool:
    past = [there for since, there in history if since <= _known(version)]
    return bool(past) and past[-1]


def comes_with(history: History, version: Version) -> Version | None:
    """The first later version with what this one lacks; None if this one has it, or none that comes later does."""
    if _is_there(history, version):
        return None
    return next((since for since, there in history if since > _known(version) and there), None)


def absent(history: History, version: Version) -> str:
    """Since when something is there, or no more, if this version lacks it; else nothing."""
    if _is_there(history, version):
        return ""
    if (came := comes_with(history, version)) is not None:
        return f"it came with {in_words(came)}"
    if not any(there for _, there in history):
        return "no version has it"
    gone = max(since for since, there in history if since <= _known(version) and not there)
    return f"it is gone since {in_words(gone)}"
