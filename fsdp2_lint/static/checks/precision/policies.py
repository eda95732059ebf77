"""The policies that a call of ``fully_shard`` was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....vocab.answers import Answer, Many, many, unknown
from ....vocab.finding import Place, Site
from ...domain import events
from ...domain.choices import options
from ...domain.path_conditions import PathCondition
from ...domain.values import NONE, ClassV, Const, DictV, Ext, Obj, Value
from ...libraries.torch.precision.precision import ALL_POLICIES, LOW, POLICIES, dtype_name, policy_of
from ..shared.models import StaticModel
from ..shared.program import OfStep

_INSTANCE = "an instance"  # of the right class, or of one that may be derived from it


class StaticPolicies(OfStep[events.Sharded]):
    def _given(self, keyword: str) -> Iterator[tuple[PathCondition, Value]]:
        """What the keyword may be, on paths on which the call is made."""
        value = self.step.what.options.get(keyword)
        for guard, leaf in options(value) if value is not None else ():
            if (path := self.step.guard.join(guard)) is not None:
                yield path, leaf

    def wrong_policies(self) -> Many[tuple[str, str, Site]]:
        found: dict[tuple[str, str, Site], None] = {}
        why = str(self.step.what.options_open)
        for keyword, classes in POLICIES.items():
            for path, leaf in self._given(keyword):
                words = _in_words(leaf, classes)
                if not words or path.blurred or self.program.partial and leaf == NONE:  # perhaps a default
                    why = why or f"what {keyword} is at {self.step.when.at} is not known"
                elif words != _INSTANCE:
                    found[keyword, words, self._made(leaf)] = None
        return many(found, self._all_policies(why))

    def _made(self, given: Value) -> Site:
        """A constant is made nowhere: it belongs to the call of the function that shards, or to the file."""
        made: Site | None = given.atom.site if isinstance(given, Obj) else None
        if made is not None:
            return made
        return self.step.when.chain[-2] if len(self.step.when.chain) > 1 else Site(self.step.when.at.path, 1)

    def reduced_low(self) -> Many[Place]:
        """Are gradients reduced in a low precision? Unknown where a policy was not seen whole."""
        found: dict[Place, None] = {}
        why = str(self.step.what.options_open)
        if StaticModel(self.program, self.obj).frozen():
            return many((), self.program.excluded(f"{self.label} is frozen, so nothing is reduced"))
        for path, leaf in self._given("mp_policy"):
            policy = policy_of(leaf)
            if policy is None:
                why = why or f"what mp_policy sets at {self.step.when.at} is not known"
                continue
            if not _unset(path, policy.fields.get("reduce_dtype")):
                continue
            for guard, dtype in options(policy.fields.get("param_dtype", NONE)):
                if not path.compatible(guard):
                    continue
                if dtype_name(dtype) in LOW:
                    found[Place(policy.made, dtype_name(dtype))] = None
                elif not dtype_name(dtype) and dtype != NONE:
                    why = why or f"which param_dtype the policy has at {self.step.when.at} is not known"
        return many(found, self._all_policies(why))

    def _all_policies(self, why: str) -> Answer[Place]:
        return unknown(why) if why else self.program.excluded("the policies of this call were followed")


def _unset(path: PathCondition, value: Value | None) -> bool:
    return value is None or all(leaf == NONE for guard, leaf in options(value) if path.compatible(guard))


def _in_words(value: Any, wanted: tuple[str, ...]) -> str:
    """What is no policy of these classes, in words; empty where nobody knows what it is."""
    if isinstance(value, Const):
        return repr(value.value)
    if dtype_name(value):
        return f"torch.{dtype_name(value)}"
    if isinstance(value, ClassV):
        return f"the class {value.name}"
    if isinstance(value, Ext):
        return f"the class {value.qname.rsplit('.', 1)[-1]}" if value.qname in ALL_POLICIES else ""
    if isinstance(value, DictV):
        return "a dict"
    if isinstance(value, Obj) and value.parent is None and isinstance(value.atom.cls, Ext):
        if value.atom.cls.qname in wanted:
            return _INSTANCE
        return f"an object of {value.atom.cls.qname}" if value.atom.cls.qname in ALL_POLICIES else ""
    return ""
