"""Handles that answer as they are told, built from the protocols of the vocabulary alone.

An *assignment* maps a question (``"event.field.method"``) to what the analysis knows: an
:class:`Answer` or a :class:`Many`. A fake knows the questions of its protocol and no others.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
import pkgutil
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import strategies as st

from fsdp2_lint.vocab import defects, events
from fsdp2_lint.vocab.answers import Answer, Closed, Many, many, no, unknown, yes
from fsdp2_lint.vocab.behaviour import (
    NORM_OF_CLIPPING_IS_PARTIAL,
    RESET_CLEARS_PARTIAL_SUMS,
    RESET_CLEARS_SUMS,
    TESTS_ARE_PARTIAL,
)
from fsdp2_lint.vocab.defects import Defect
from fsdp2_lint.vocab.events.base import Event
from fsdp2_lint.vocab.events.checkpoints import StrangeKeyword
from fsdp2_lint.vocab.events.sharding import MovedWhole
from fsdp2_lint.vocab.events.training import Carried, Divides, Spent, Unseen
from fsdp2_lint.vocab.finding import Finding, Fix, Moment, Place, Site
from fsdp2_lint.vocab.live import FORWARD, KEEPS, UNSHARD, Leftover, Memory, Stray
from fsdp2_lint.vocab.objects import Shards, Stale
from fsdp2_lint.vocab.rule import Dispatcher, Rule

WHY = "nobody knows"
ALL = no(Closed(fact="all of it was seen"))
OPEN = unknown(WHY)
for topic in pkgutil.iter_modules(events.__path__, f"{events.__name__}."):
    importlib.import_module(topic.name)


def _kinds(of: type[Event]) -> Iterator[type[Event]]:
    for kind in of.__subclasses__():
        yield from [kind, *_kinds(kind)]


EVENTS = sorted(_kinds(Event), key=lambda kind: kind.__name__)
MOMENTS = st.builds(
    Moment,
    st.builds(Site, st.sampled_from(["train.py", "helper.py"]), st.integers(1, 6)),
    st.lists(st.builds(Site, st.just("main.py"), st.integers(1, 3)), max_size=2).map(tuple),
)
WORDS = st.sampled_from(["forward", "mesh", "auto_wrap_policy", "summon_full_params", "torch.save", "generate"])
PLACES = st.builds(Place, MOMENTS, st.just("what happens there"))
STALE = st.builds(Stale, MOMENTS, MOMENTS, st.just("model"))
# What a yes carries, question by question; a place for all others, which is what new questions should carry.
PROOFS: dict[str, st.SearchStrategy[Any]] = {
    "inside": MOMENTS,
    "repeated": MOMENTS,
    "spent": st.builds(Spent, MOMENTS, st.just("what happens there")),
    "strange_keywords": st.builds(StrangeKeyword, MOMENTS, st.just("optimizer")),
    "container_without_forward": st.just("ModuleList"),
    "units": MOMENTS,
    "inner_units": MOMENTS,
    "sharded": MOMENTS,
    "one_group": MOMENTS,
    "repeats": st.just("layers"),
    "parameter_count": st.sampled_from([7_000, 7_000_000_000]),
    "outside": st.sampled_from([["head"], ["a", "b", "c", "d"]]),
    "added_late": st.tuples(MOMENTS, st.just("lora"), MOMENTS),
    "replaced": STALE,
    "temporary": STALE,
    "shards": st.builds(Shards, st.just("the model's shards"), st.none() | MOMENTS.map(lambda moment: moment.at)),
    "moved_whole": st.builds(MovedWhole, MOMENTS, st.just("all of it is moved"), st.just("Net")),
    "full_tensors": MOMENTS,
    "excluded_ranks": st.tuples(st.none() | MOMENTS, st.just("rank 0")),
    "touched_before": st.tuples(MOMENTS, st.just("cuda()")),
    "current_device_used": st.tuples(MOMENTS, st.just("cuda()")),
    "mesh_made": MOMENTS,
    "made": MOMENTS,
    "tied_elsewhere": st.tuples(st.just("head.weight"), MOMENTS),
    "ignored_names": st.just("embed.weight"),
    "wrong_policies": st.sampled_from(
        [("mp_policy", "the class X", Site("train.py", 1)), ("offload_policy", "None", None)]
    ),
    "mixed_dtypes": st.just("bfloat16 (norm.weight) and float32 (up.weight)"),
    "left_gathered": st.just("it is gathered still"),
    "uninitialised": st.tuples(MOMENTS, st.just(["embed.weight"])),
    "unrestored_buffers": st.tuples(MOMENTS, st.just(["inv_freq"])),
    "strays": st.builds(Stray, MOMENTS, st.just("head.weight"), st.just("a plain tensor"), st.none() | MOMENTS),
    "stale": st.builds(Leftover, st.just("Net"), MOMENTS, MOMENTS, st.sampled_from([FORWARD, UNSHARD, KEEPS])),
    "unevenly": st.builds(Divides, st.just("Net"), st.just("1.0"), MOMENTS, st.just("Block"), st.just("2"), MOMENTS),
    "apart_in_one_unit": st.tuples(PLACES, PLACES),
    "unsynchronised": st.tuples(st.just("Net"), st.builds(Place, MOMENTS, st.just("the_switch(False)"))),
    "carried_over": st.builds(Carried, st.just("Net"), MOMENTS, MOMENTS),
    "unseen": st.builds(Unseen, st.just("Net"), MOMENTS, st.builds(Place, MOMENTS, st.just("is gathered"))),
    "without_optimizer": st.tuples(MOMENTS, st.just(["head.weight"])),
    "memory": st.builds(
        Memory,
        at=MOMENTS,
        whole=st.sampled_from([2**20, 2**30]),
        held=st.sampled_from([2**19, 2**30]),
        share=st.just(2**19),
        largest=st.just("layers.0"),
        largest_bytes=st.sampled_from([2**10, 2**30]),
        gathered_bytes=st.just(2**30),
        groups=st.sampled_from([(), ("a: 1", "b: 2")]),
    ),
    "receives_nothing": st.just("an empty dict"),
    "launch_mismatch": st.just("rank 0 of 2, and rank 0 of 1"),
    "in_some_versions": st.sampled_from([NORM_OF_CLIPPING_IS_PARTIAL, TESTS_ARE_PARTIAL]),
    "reset_by": st.sampled_from([RESET_CLEARS_SUMS, RESET_CLEARS_PARTIAL_SUMS]),
    "partial": st.tuples(st.just("Partial(sum)"), st.none() | MOMENTS.map(lambda moment: moment.at)),
}
Assignment = dict[str, Any]


@dataclass(eq=False)
class Fake:
    """One handle. ``asked`` collects the questions that were put to it."""

    protocol: type
    path: str
    answers: Assignment
    asked: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        if name in ("label", "name"):
            return self.path
        if name not in questions(self.protocol):
            raise AttributeError(f"{name} is no question of {self.protocol.__name__}")
        key = f"{self.path}.{name}"

        def answer(*_: object) -> Any:
            self.asked.append(key)
            return self.answers[key]

        return answer


@cache
def questions(protocol: type) -> dict[str, Any]:
    """The methods of a protocol and what they return: Answer or Many."""
    return {
        name: typing.get_origin(kind) or kind
        for cls in protocol.__mro__
        if getattr(cls, "_is_protocol", False)
        for name, method in vars(cls).items()
        if inspect.isfunction(method) and not name.startswith("_")
        for kind in [typing.get_type_hints(method).get("return")]
    }


@cache
def handle_fields(event: type[Event]) -> dict[str, type]:
    hints = typing.get_type_hints(event)
    return {
        each.name: hints[each.name]
        for each in dataclasses.fields(event)
        if getattr(hints[each.name], "_is_protocol", False)
    }


DEFECTS = [each for each in vars(defects).values() if isinstance(each, Defect)]


@cache
def plain_fields(event: type[Event]) -> st.SearchStrategy[dict[str, Any]]:
    """Values for the fields that are no objects to ask."""
    sites = st.sampled_from([None, EARLY.at])
    kinds = {Moment: MOMENTS, str: WORDS, bool: st.booleans(), Fix | None: st.none(), Site | None: sites}
    kinds[Defect] = st.sampled_from(DEFECTS)
    hints = typing.get_type_hints(event)
    names = [each.name for each in dataclasses.fields(event) if each.name not in handle_fields(event)]
    return st.fixed_dictionaries({name: kinds[hints[name]] for name in names})


@cache
def all_questions(event: type[Event]) -> dict[str, Any]:
    return {
        f"{event.__name__}.{name}.{asked}": kind
        for name, protocol in handle_fields(event).items()
        for asked, kind in questions(protocol).items()
    }


def answer_to(question: str, kind: type) -> st.SearchStrategy[Any]:
    """Anything that an analysis may say, an unknown included."""
    proof = PROOFS.get(question.rpartition(".")[2], PLACES)
    if kind is Many:
        return st.builds(many, st.lists(proof, max_size=2), st.sampled_from([ALL, OPEN]))
    assert kind is Answer, f"{question} returns {kind}"
    return st.one_of(proof.map(yes), st.just(ALL), st.just(unknown(WHY)))


@cache
def assignments(event: type[Event]) -> st.SearchStrategy[Assignment]:
    return st.fixed_dictionaries({name: answer_to(name, kind) for name, kind in all_questions(event).items()})


def nothing_known(event: type[Event]) -> Assignment:
    return {name: many((), OPEN) if kind is Many else unknown(WHY) for name, kind in all_questions(event).items()}


def less_known(base: Assignment, forget: Callable[[str], bool]) -> Assignment:
    """Some answers become unknown; a listing forgets its items and is open."""
    gone = {name: many((), OPEN) if isinstance(known, Many) else unknown(WHY) for name, known in base.items()}
    return {name: gone[name] if forget(name) else known for name, known in base.items()}


@dataclass
class Trial:
    findings: list[Finding]
    asked: list[str]
    broken: list[tuple[str, Exception]]
    words: dict[str, str]

    @property
    def places(self) -> set[tuple[str, Site]]:
        return {(each.code, each.primary.site) for each in self.findings}


def judge(rules: tuple[Rule, ...], event: type[Event], plain: dict[str, Any], answers: Assignment) -> Trial:
    """Put one event before the dispatcher."""
    fakes = {
        name: Fake(protocol, f"{event.__name__}.{name}", answers) for name, protocol in handle_fields(event).items()
    }
    dispatcher = Dispatcher(rules)
    dispatcher.dispatch(event(**plain, **fakes))
    findings = [finding for verdict in dispatcher.verdicts.values() for finding in verdict.findings]
    asked = [question for fake in fakes.values() for question in fake.asked]
    return Trial(
        findings, asked, dispatcher.broken, {verdict.code: verdict.word for verdict in dispatcher.verdicts.values()}
    )


class Missing(BaseException):
    """A question that an assignment does not answer yet; no rule and no dispatcher may catch it."""


class Partial(dict):  # type: ignore[type-arg]
    def __missing__(self, question: str) -> Any:
        raise Missing(question)


def options(event: type[Event], question: str) -> list[Any]:
    """One answer of each kind, with a proof of the right shape."""
    proof = FIXED.get(question.rpartition(".")[2], Place(EARLY, "what happens there"))
    if all_questions(event)[question] is Many:
        return [many((), ALL), many([proof], ALL), many((), OPEN), many([proof], OPEN)]
    return [*map(yes, [proof, *FURTHER.get(question.rpartition(".")[2], ())]), ALL, OPEN]


def explore(
    rule: Rule, event: type[Event], plain: dict[str, Any], known: Assignment
) -> Iterator[tuple[Assignment, Trial]]:
    """Every way in which the rule's questions can be answered beyond ``known``: all paths through it."""
    try:
        yield known, judge((rule,), event, plain, Partial(known))
        return
    except Missing as missing:
        question = str(missing)
    for answer in options(event, question):
        yield from explore(rule, event, plain, {**known, question: answer})


EARLY, LATE, NOW = (Moment(Site("train.py", row), (Site("main.py", row),)) for row in (10, 20, 30))
FIXED: dict[str, Any] = {
    **dict.fromkeys(
        ["inside", "repeated", "units", "inner_units", "sharded", "one_group", "full_tensors", "mesh_made", "made"],
        EARLY,
    ),
    **dict.fromkeys(["touched_before", "current_device_used"], (EARLY, "cuda()")),
    **dict.fromkeys(["replaced", "temporary"], Stale(EARLY, LATE, "model")),
    "container_without_forward": "ModuleList",
    "repeats": "layers",
    "parameter_count": 7_000_000_000,
    "outside": ["head"],
    "added_late": (LATE, "lora", EARLY),
    "shards": Shards("the model's shards", EARLY.at),
    "moved_whole": MovedWhole(EARLY, "all of it is moved", "Net"),
    "excluded_ranks": (EARLY, "rank 0"),
    "tied_elsewhere": ("head.weight", EARLY),
    "ignored_names": "embed.weight",
    "wrong_policies": ("mp_policy", "the class X", EARLY.at),
    "mixed_dtypes": "bfloat16 and float32",
    "left_gathered": "it is gathered still",
    **dict.fromkeys(["uninitialised", "unrestored_buffers", "without_optimizer"], (EARLY, ["embed.weight"])),
    "strays": Stray(EARLY, "head.weight", "a plain tensor"),
    "stale": Leftover("Net", EARLY, LATE, FORWARD),
    "unevenly": Divides("Net", "1.0", LATE, "Block", "2", EARLY),
    "apart_in_one_unit": (Place(EARLY, "the rank deals them out"), Place(EARLY, "the layers are divided")),
    "unsynchronised": ("Net", Place(EARLY, "set_requires_gradient_sync(False)")),
    "carried_over": Carried("Net", EARLY, LATE),
    "unseen": Unseen("Net", EARLY, Place(EARLY, "is gathered")),
    "memory": Memory(EARLY, 2**30, 2**30, 2**29, "layers.0", 2**20, 2**30),
    "receives_nothing": "an empty dict",
    "spent": Spent(EARLY, "what happens there"),
    "strange_keywords": StrangeKeyword(EARLY, "optimizer"),
    "launch_mismatch": "rank 0 of 2, and rank 0 of 1",
    "in_some_versions": TESTS_ARE_PARTIAL,
    "reset_by": RESET_CLEARS_SUMS,
    "partial": ("Partial(sum)", EARLY.at),
}
# Proofs that a rule weighs: here one that is no fault.
FURTHER: dict[str, list[Any]] = {
    "memory": [Memory(EARLY, 2**30, 2**29, 2**29, "layers.0", 2**20, 2**30)],
    "in_some_versions": [NORM_OF_CLIPPING_IS_PARTIAL],
    "reset_by": [RESET_CLEARS_PARTIAL_SUMS],
}
ALL_WORDS = ["forward", "mesh", "auto_wrap_policy", "summon_full_params", "torch.save", "generate"]


def plain_cases(event: type[Event]) -> Iterator[dict[str, Any]]:
    """The same for the fields that are no objects to ask."""
    hints = typing.get_type_hints(event)
    names = [each.name for each in dataclasses.fields(event) if each.name not in handle_fields(event)]
    kinds: dict[Any, list[Any]] = {Moment: [NOW, EARLY], str: ALL_WORDS, bool: [True, False]}
    kinds |= {Fix | None: [None], Site | None: [None, EARLY.at], Defect: DEFECTS}
    for values in itertools.product(*(kinds[hints[name]] for name in names)):
        yield dict(zip(names, values))


def subscribers(event: type[Event], rules: tuple[Rule, ...]) -> Iterator[Rule]:
    return (rule for rule in rules if event in rule.handlers)
