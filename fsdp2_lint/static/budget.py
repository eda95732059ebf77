"""How far the analysis goes, in one table: every limit that decides what is seen of a program.

Budgets are counted in steps and pieces, never in seconds, and each program has its own: what it is found to do depends
neither on the machine nor on what else is checked. What lies beyond a limit is not seen, so it is unknown; ``beyond``
says what becomes of it. The table is part of the documentation (``docs/budgets.md``, which a test compares with it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fsdp2_lint.files.reading import (
    CONFIGURATION_BYTES,
    CONFIGURATION_FILES,
    FILE_BYTES,
    NOTEBOOK_BYTES,
    NOTEBOOK_CELLS,
    REPORT_BYTES,
    SETTINGS_BYTES,
)
from fsdp2_lint.settings.environment import STEPS, steps

VARIABLE = STEPS


def _limit(value: float, unit: str, why: str, beyond: str) -> Any:
    return field(default=value, metadata={"unit": unit, "why": why, "beyond": beyond})


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one program may cost, and how large the things in it may be. Nothing here is about other programs."""

    # Which programs there are: see ``entries``, which works on names alone.
    programs: int = _limit(
        400, "programs", "a monorepo has thousands of scripts", "the last ones by plan are not analysed, and named"
    )
    climb: int = _limit(
        6, "calls", "how far out the callers of sharding code are looked for", "a caller further out is not run"
    )
    callers: int = _limit(
        16, "callers", "of one function that shards, each run as a program of its own", "the others are named"
    )
    subclasses: int = _limit(12, "classes", "of one class that shards, each built and driven", "the others are named")

    # One program.
    script_steps: int = _limit(
        200_000, "steps", "about ten seconds; the longest script that was read needs 120,000", "the rest is not seen"
    )
    part_steps: int = _limit(
        100_000, "steps", "for a function or class that no script runs, with unknown arguments", "the rest is not seen"
    )
    script_unsharded: int = _limit(
        80_000,
        "steps",
        "before it shards anything; the latest that was seen comes after 75,000",
        "the rest is not seen",
    )
    part_unsharded: int = _limit(
        40_000, "steps", "likewise, for what speaks of sharding in its own code", "the rest is not seen"
    )
    near: int = _limit(
        12,
        "programs",
        "that share sharding code, nearest first by calls: scripts, and parts; most is found in them",
        "the others get the two lines below",
    )
    far_steps: int = _limit(
        60_000, "steps", "for a script or a part that is not among the nearest", "the rest is not seen"
    )
    far_unsharded: int = _limit(6_000, "steps", "likewise, while it has sharded nothing", "the rest is not seen")
    method_steps: int = _limit(
        50_000, "steps", "one method of a class that nobody builds", "the method is not seen; the others are"
    )
    conditions: int = _limit(
        3_000_000, "literals", "in all path conditions: some 300 MB, lost in combinations", "the rest is not seen"
    )
    judging: int = _limit(
        20_000_000,
        "events looked at",
        "by all questions of all rules, some ten seconds; each try to meet two conditions at once counts as a hundred",
        "what was not judged is unknown",
    )
    seconds: int = _limit(
        900,
        "seconds of CPU",
        "a last resort, ten times what all steps take",
        "nothing is said: all its verdicts are unknown",
    )

    # One call.
    call_steps: int = _limit(
        16_000,
        "steps",
        "of one function that reaches no sharding call, over all its calls",
        "its calls become unseen code",
    )
    call_paths: int = _limit(
        16_000,
        "paths put together",
        "likewise, about a second: values of data that depend on many conditions at once",
        "as above",
    )
    training_share: float = _limit(
        0.5,
        "of what the program has left",
        "likewise, once something is sharded, where the function has a model, an optimizer or a loader in its hands",
        "as above",
    )
    call_share: float = _limit(
        0.75, "of what the caller has left", "the innermost long call ends first, and its callers go on", "as above"
    )
    own_steps: int = _limit(
        8_000, "steps", "in one function's own statements, over all its calls", "its calls become unseen code"
    )
    own_conditions: int = _limit(
        150_000,
        "literals",
        "likewise, in path conditions: a function that takes more is lost in combinations",
        "its calls become unseen code",
    )
    of_models: int = _limit(
        3,
        "times",
        "the above for methods of a model, which each round of a loop may run; own ones also for what shards or trains",
        "its calls become unseen code, with the model in their hands",
    )
    short_call: int = _limit(100, "steps", "a call is never cut for what earlier calls took before that", "as above")
    frames: int = _limit(40, "calls", "inside each other", "the call becomes unseen code")
    recursion: int = _limit(2, "calls", "of one function inside itself", "the call becomes unseen code")
    model_recursion: int = _limit(
        6,
        "calls",
        "of one function inside itself that goes through the parts of a model, of containers, or derived classes",
        "the call becomes unseen code",
    )
    links: int = _limit(
        12,
        "calls",
        "inside each other of functions that one line of the source made, such as the links of a chain",
        "the call becomes unseen code",
    )
    repeats: int = _limit(
        4, "repetitions", "in a pattern that names are matched with", "whether it matches is not known"
    )
    matched_text: int = _limit(100, "characters", "of a text that a pattern is matched with", "as above")
    held_depth: int = _limit(
        3, "fields", "of fields, in which a model is looked for before a call is left out", "it is run"
    )
    checked: int = _limit(
        4, "conditions", "that hold behind a call because it raises otherwise", "none of them is remembered"
    )
    ways: int = _limit(
        16, "questions", "in all ways out of a call that raises otherwise", "that it was one of them is not remembered"
    )
    learned: int = _limit(
        8, "conditions", "that hold behind a branch because an arm checks them", "none of them is remembered"
    )
    name_parts: int = _limit(400, "pieces of code", "read for the names that a function mentions", "it may do anything")
    name_imports: int = _limit(16, "imports", "that hand a name on before it is defined", "it may do anything")
    wrappers: int = _limit(
        2, "wrappers", 'taken off by ``while hasattr(model, "module")``', "further ones stay around it"
    )
    lengthy: int = _limit(
        25, "lines", "of a function that is worth leaving out, if it can have no part", "a shorter one is run"
    )
    predicate: int = _limit(
        4, "lines", "of a function that is run although its file does not speak of torch", "the result is unknown"
    )

    # Values.
    reach: int = _limit(
        24,
        "fields",
        "of fields that unseen code may change; only deeper data ends there",
        "data in a circle ends there",
    )
    list_items: int = _limit(256, "items", "of a list", "the list is open: others may be in it")
    dict_entries: int = _limit(96, "entries", "of a dict", "the dict is open: others may be in it")
    visits: int = _limit(240, "rounds", "of a loop over known elements", "unseen code gets the other elements")
    dir_names: int = _limit(24, "names", "that `dir()` lists of an object", "which names there are is unknown")
    text: int = _limit(200, "characters", "of a text that is known", "the text is unknown")
    tuple_leaves: int = _limit(64, "values", "in tuples of tuples", "the tuple is held as a list")
    path: int = _limit(24, "steps", "from an object to a part of a part", "deeper parts are one unknown")
    options: int = _limit(16, "values", "that one variable may have, by path", "it is one of many values")
    options_kept: int = _limit(2, "values", "of those many that keep their path", "the others are one unknown")
    few_options: int = _limit(
        6, "values", "whose paths are kept apart; entries that an unknown key may name", "the others are one unknown"
    )
    closures: int = _limit(
        2, "functions", "of one definition that differ in what they close over", "which one it is, is unknown"
    )

    # Path conditions.
    literals: int = _limit(160, "conditions", "on one path", "the path is marked: nothing more is proved on it")
    questions: int = _limit(40, "questions", "in one condition", "it is compared with no other, and marks its path")
    contained: int = _limit(12, "items", "of a list in ``x in items``", "the condition is compared with no other")
    quantified: int = _limit(8, "items", "of a list in ``any`` and ``all``", "the condition is compared with no other")
    counted: int = _limit(3, "conditions", "in one number of how many hold", "the number is unknown")

    # Numbers.
    counted_out: int = _limit(
        8, "rounds", "of a loop over the numbers of a list, each run for its element", "one round stands for all"
    )
    calculated: int = _limit(64, "numbers", "in one call of ``sum``, ``prod`` and the like", "the result is unknown")

    # Questions of rules.
    modules: int = _limit(300, "modules", "of one model that are listed one by one", "they are some modules below it")
    module_depth: int = _limit(24, "modules", "inside each other", "a model that holds itself ends there")
    dtype_path: int = _limit(
        8, "layers", "through which the dtype of a tensor is followed back", "nothing is proved of it"
    )
    dtype_parts: int = _limit(
        3, "modules", "inside each other, in which casts are looked for", "nothing is proved of it"
    )
    consequences: int = _limit(
        6, "returns and names", "through which an answer is followed to its ``if``", "nothing is proved of it"
    )
    choices: int = _limit(8, "conditions", "under which weights are written, weighed together", "it is unknown")

    # Files.
    file_bytes: int = _limit(FILE_BYTES, "bytes", "of one Python file", "the file is named and not checked")
    notebook_bytes: int = _limit(
        NOTEBOOK_BYTES, "bytes", "of one notebook, with its pictures; its code is one Python file", "as above"
    )
    notebook_cells: int = _limit(NOTEBOOK_CELLS, "cells", "of one notebook", "as above")
    settings_bytes: int = _limit(
        SETTINGS_BYTES, "bytes", "of a file of settings, or of a .gitignore", "an error; a .gitignore is named"
    )
    configuration_files: int = _limit(
        CONFIGURATION_FILES,
        "files",
        "of YAML and JSON in which names are looked for",
        "what they name is unknown",
    )
    configuration_bytes: int = _limit(CONFIGURATION_BYTES, "bytes", "of one of these", "as above")
    report_bytes: int = _limit(
        REPORT_BYTES, "bytes", "of a baseline, of earlier findings, or of what a rank reported", "it is not read"
    )
    pins_bytes: int = _limit(200_000, "bytes", "of a file that may pin torch", "what follows pins nothing")

    def steps(self, kind: str, *, near: bool = True) -> int:
        """For a program of this kind; ``near``: few that share its sharding code come before it."""
        whole = self.script_steps if kind == "script" else self.part_steps
        return whole if near else min(whole, self.far_steps)

    def unsharded(self, kind: str, *, near: bool = True) -> int:
        """Likewise, while it has sharded nothing."""
        first = self.script_unsharded if kind == "script" else self.part_unsharded
        return min(first if near else self.far_unsharded, self.steps(kind, near=near))


def markdown() -> str:
    """The table as the documentation has it; ``python -m fsdp2_lint.static.budget`` prints it."""
    rows = [("limit", "value", "counted", "of what, and why", "beyond it"), ("---",) * 5]
    for line in fields(Budget):
        rows.append(
            (f"`{line.name}`", f"{line.default:,}", *(line.metadata[name] for name in ("unit", "why", "beyond")))
        )
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def stated(environment: Mapping[str, str], asked: int | None = None, given: Budget = Budget()) -> Budget:
    """``given``, with the steps that are asked for or that the environment states. BadSetting if it states none.

    Whoever asks for more than a limit of the table gets that many, also while nothing is sharded.
    """
    found = asked or steps(environment)
    if found is None:
        return given
    first = {name: max(found, getattr(given, name)) for name in _FIRST}
    return replace(given, script_steps=found, part_steps=found, **first)


_FIRST = ("script_unsharded", "part_unsharded", "far_steps", "far_unsharded")
BUDGET = Budget()

if __name__ == "__main__":
    print(markdown(), end="")
