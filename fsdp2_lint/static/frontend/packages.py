"""What other packages do to models, optimizers and the device, as ``packages.tsv`` says, with a reason for each.

A name that is not listed may stand for anything. Which modules belong to Python itself is asked of Python.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".tsv")
ALONE, MODELS, OPTIMIZERS, ANYTHING = "alone", "models", "optimizers", "anything"
EFFECTS = frozenset({ALONE, MODELS, OPTIMIZERS, ANYTHING})


@cache
def rows() -> dict[str, tuple[str, str]]:
    """For each name its effect and the reason."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    read = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {name: (effect, reason) for name, effect, reason in read}


@cache
def effect_of(qname: str) -> str:
    """That of the longest listed name which is ``qname`` or holds it."""
    at = qname
    while at:
        if at in rows():
            return rows()[at][0]
        at = at.rpartition(".")[0]
    return ALONE if is_of_python(qname) else ANYTHING


def is_of_python(qname: str) -> bool:
    """Does it belong to Python itself?"""
    return qname.partition(".")[0] in sys.stdlib_module_names


def is_listed(qname: str) -> bool:
    """Is its package in the table, whatever it does?"""
    return qname.partition(".")[0] in rows()


def is_harmless(qname: str) -> bool:
    """Does it leave models, optimizers and the device alone, as far as it is known?"""
    return effect_of(qname) in (ALONE, MODELS) or is_optimizer(qname)  # a function beside it may build one


def builds_models(qname: str) -> bool:
    return effect_of(qname) == MODELS


def is_optimizer(qname: str) -> bool:
    """Is it a class of optimizers?"""
    return effect_of(qname) == OPTIMIZERS and is_class(qname)


def is_known_class(qname: str) -> bool:
    """Is it surely a class? Of a package that is not listed nobody knows what its names stand for."""
    return is_class(qname) and (effect_of(qname) != ANYTHING or qname.split(".")[0] in rows())


def is_class(qname: str) -> bool:
    """By the convention of all packages that are listed: a name with a capital is a class."""
    return qname.rpartition(".")[2][:1].isupper()
