"""Laws that hold for every rule, whatever an analysis answers."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsdp2_lint.catalogue import registry
from fsdp2_lint.vocab import live, objects
from fsdp2_lint.vocab.events.base import Event
from fsdp2_lint.vocab.rule import Rule, for_target

from .fakes import (
    EVENTS,
    all_questions,
    assignments,
    explore,
    judge,
    less_known,
    nothing_known,
    plain_cases,
    plain_fields,
    questions,
    subscribers,
)

RULES = tuple(for_target(registry.rules(), (2, 12)))  # for which every clause has something to say
APPLIES = [(rule, event) for event in EVENTS for rule in subscribers(event, RULES)]
each_judgement = pytest.mark.parametrize(
    ("rule", "event"), [pytest.param(rule, event, id=f"{rule.code}-{event.__name__}") for rule, event in APPLIES]
)
many_examples = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

ROOT = Path(__file__).parents[2]


def test_every_rule_judges_some_event() -> None:
    """Or it compares what ranks say, or both."""
    judging = {rule.code for rule, _ in APPLIES}
    comparing = {rule.code for rule in RULES if rule.compares}
    assert judging | comparing == {rule.code for rule in RULES} and len(RULES) >= 40


@pytest.mark.quick(12)
@each_judgement
@many_examples
@given(data=st.data())
def test_nothing_is_found_where_nothing_is_known(rule: Rule, event: type[Event], data: Any) -> None:
    """Law 1. A rule that asks no question judges the event itself, which is a fact."""
    trial = judge((rule,), event, data.draw(plain_fields(event)), nothing_known(event))
    assert not trial.broken
    if trial.asked:
        assert not trial.findings, f"guessed after asking {trial.asked}"
        assert trial.words[rule.code] == "unknown"


@pytest.mark.quick(12)
@each_judgement
@many_examples
@given(data=st.data())
def test_less_knowledge_never_adds_a_finding(rule: Rule, event: type[Event], data: Any) -> None:
    """Law 2. And what is violated is never taken for upheld."""
    plain, base = data.draw(plain_fields(event)), data.draw(assignments(event))
    forgotten = data.draw(st.sets(st.sampled_from(sorted(base)))) if base else set()
    known = judge((rule,), event, plain, base)
    less = judge((rule,), event, plain, less_known(base, forgotten.__contains__))
    assert not known.broken and not less.broken
    assert less.places <= known.places, f"new once {forgotten} are unknown"
    if known.findings and not less.findings:
        assert less.words[rule.code] == "unknown"


@each_judgement
def test_no_path_through_a_rule_needs_an_unknown(rule: Rule, event: type[Event]) -> None:
    """Laws 1 and 2 on every combination of answers that the rule can tell apart.

    Forgetting several answers is forgetting one after the other, so one is enough here.
    """
    seen = set()
    for plain in plain_cases(event):
        for known, trial in explore(rule, event, plain, {}):
            assert not trial.broken, (known, trial.broken)
            seen.add(trial.words[rule.code])
            for question in trial.asked:
                less = less_known(known, lambda each, question=question: each == question)
                for assignment, weaker in explore(rule, event, plain, less):
                    assert weaker.places <= trial.places, f"new once {question} is unknown: {assignment}"
                    if trial.findings and not weaker.findings:
                        assert weaker.words[rule.code] == "unknown"
    assert "violated" in seen, "else nothing was tested"
    assert "upheld" in seen or rule.code == "FSDP104", "a bare context manager is always a fault"


def asked_names(rule: Rule) -> set[str]:
    """Names of what a rule's source calls on ``event.…``."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(type(rule))))):  # type: ignore[arg-type]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "event":
                found.add(node.func.attr)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rules_ask_only_what_the_vocabulary_has(rule: Rule) -> None:
    classes = [each for module in (objects, live) for _, each in inspect.getmembers(module, inspect.isclass)]
    known = {name for each in classes if getattr(each, "_is_protocol", False) for name in questions(each)}
    known |= {question.rpartition(".")[2] for event in EVENTS for question in all_questions(event)}
    assert asked_names(rule) <= known


def test_every_question_can_be_answered_unknown() -> None:
    """Questions return an Answer or a Many, never a bare truth."""
    for event in EVENTS:
        assert nothing_known(event).keys() == all_questions(event).keys()
        assert all(kind.__name__ in ("Answer", "Many") for kind in all_questions(event).values())


def test_rules_import_the_vocabulary_and_the_standard_library_only() -> None:
    """Law 3. A rule does not lean on its neighbours either."""
    named = set()
    for path in (ROOT / "rules").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {(path, alias.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                named.add((path, "." * node.level + (node.module or "")))
    others = {each for each in named if each[1].partition(".")[0] not in sys.stdlib_module_names}
    assert others and not {each for each in others if not each[1].startswith("fsdp2_lint.vocab")}
    assert not [each for each in named if each[1].partition(".")[0] == "ast"], "rules do not see syntax trees"
