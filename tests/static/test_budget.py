"""The table of budgets: what the documentation says of it, what the environment may set, and what is said of a cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.cli import invoke
from fsdp2_lint.static.budget import BUDGET, VARIABLE, Budget, markdown, stated
from fsdp2_lint.static.check import check
from fsdp2_lint.static.domain.formulas import both, either
from fsdp2_lint.static.domain.path_conditions import TRUE, PathCondition, forget
from fsdp2_lint.static.domain.trace import Trace
from fsdp2_lint.static.result import Request
from fsdp2_lint.vocab.answers import CannotTell
from tests.static.program import ROOT, analyse, limited, script

REPOSITORY = Path(__file__).parents[2]
TRAIN = script("""
    model = Net()
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in torch.load("batches.pt"):
        model(batch).sum().backward()
        optimizer.step()
""")


def test_the_documentation_has_the_table() -> None:
    text = (REPOSITORY / "docs" / "budgets.md").read_text(encoding="utf-8")
    assert text.endswith(f"\n\n{markdown()}"), "python -m fsdp2_lint.static.budget prints it"


def test_figures_elsewhere_in_the_documentation() -> None:
    text = (REPOSITORY / "docs" / "how-the-proof-works.md").read_text(encoding="utf-8")
    assert f"{BUDGET.script_steps:,} for a script, {BUDGET.script_unsharded:,} if" in " ".join(text.split())


def test_each_line_is_used() -> None:
    """Each limit is asked for somewhere, and no other module has limits of its own."""
    sources = {path: path.read_text(encoding="utf-8") for path in (REPOSITORY / "fsdp2_lint/static").rglob("*.py")}
    used = {name for text in sources.values() for name in re.findall(r"\b(?:BUDGET|self|budget)\.(?=(\w+))", text)}
    others = (
        path for path in (REPOSITORY / "fsdp2_lint").rglob("*.py") if path.name not in ("budget.py", "reading.py")
    )
    for path in others:  # the limits of files have names of their own, which do not load the table
        used |= {
            each.lower() for each in re.findall(r"\b[A-Z]+_(?:BYTES|CELLS|FILES)\b", path.read_text(encoding="utf-8"))
        }
    assert set(Budget.__dataclass_fields__) <= used
    for path, text in sources.items():
        assert not re.search(r"^_?MAX_\w+ = [\d_]+$", text, re.MULTILINE), path
        assert not re.search(r"\b(depth|number) (<|>|<=|>=) [2-9]", text), path


def test_the_environment_sets_the_steps_of_a_program() -> None:
    few = stated({VARIABLE: "500"})
    assert (few.steps("script"), few.steps("class"), few.unsharded("function")) == (500, 500, 500)
    many = stated({}, asked=400_000)
    assert {many.steps(kind, near=near) for kind in ("script", "class") for near in (True, False)} == {400_000}
    assert {many.unsharded(kind, near=near) for kind in ("script", "class") for near in (True, False)} == {400_000}
    assert stated({}) == stated({VARIABLE: ""}) == BUDGET


@pytest.mark.parametrize("text", ["abc", "-1", "0", "1.5", "1e6", "²", "10 000"])
def test_what_is_no_number_of_steps(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.setenv(VARIABLE, text)
    assert invoke(["check", str(tmp_path)]) == 2
    out, err = capfd.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert f"{VARIABLE}: {text!r} is not a number of steps" in err


def test_a_program_that_is_cut_leaves_nothing_upheld() -> None:
    """Neither what was judged nor what was never come to; and the warning names the program."""
    assert "upheld" in {clause.word for model in analyse(TRAIN).result.models for clause in model.rules}
    long = TRAIN.replace("    optimizer =", "    x = 1\n" * 300 + "    optimizer =")
    with limited(script_steps=300):
        cut = analyse(long)
    assert cut.result.out_of_budget == [f"{ROOT}/train.py: more than 300 steps"]
    assert "upheld" not in {clause.word for model in cut.result.models for clause in model.rules}
    assert cut.verdicts("FSDP601") == {"unknown"}, "its step was not come to"


def test_judging_has_a_budget_too() -> None:
    """What was violated by then stays; all that was not judged is unknown."""
    twice = TRAIN.replace("    fully_shard(model)\n", "    fully_shard(model)\n    fully_shard(model)\n")
    assert analyse(twice).codes
    with limited(judging=40):
        cut = analyse(twice)
    assert cut.result.out_of_budget == [f"{ROOT}/train.py: judging it took more than 40 looks at what happens"]
    assert {clause.word for model in cut.result.models for clause in model.rules} <= {"unknown", "violated"}


def clipping(times: int) -> str:
    """So many generators of parameters, each read once, each on conditions of its own."""
    asked = "if args.a{0} and args.b or args.b and args.c{0}:\n    clip_grad_norm_(model.parameters(), 1.0)"
    lines = (asked.format(n) for n in range(times))
    return script("fully_shard(model)\n" + "\n".join(lines))


def test_paths_are_compared_of_what_is_read_twice_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which runs come to both of two places is dear to ask: of many reads each pair took minutes."""
    compared = 0
    original = PathCondition.in_one_case

    def counted(self: PathCondition, other: PathCondition) -> bool:
        nonlocal compared
        compared += 1
        return original(self, other)

    monkeypatch.setattr(PathCondition, "in_one_case", counted)
    text = {f"{ROOT}/train.py": clipping(12).encode()}
    rules = [rule for rule in registry.rules() if rule.code == "FSDP607"]
    assert check(Request(files=[*text], root=ROOT, overlay=text, rules=rules)).models
    assert compared < 12


def test_comparing_conditions_part_by_part_counts_as_judging() -> None:
    def either_at(number: int) -> PathCondition:
        parts = [both([("truth", name), ("is", asked, number)]) for name, asked in (("a", "x"), ("b", "y"))]
        path = TRUE.add(either(parts))
        assert path is not None
        return path

    trace = Trace()
    with trace.bounded(150, lambda: None), pytest.raises(CannotTell):
        trace.look()
        either_at(1).in_one_case(either_at(2))
        trace.look()
    forget()


def test_programs_beyond_their_number_are_named() -> None:
    with limited(programs=2):
        seen = analyse({f"train{number}.py": TRAIN for number in range(4)})
    assert len(seen.result.findings) == 2 * len(analyse(TRAIN).result.findings)
    (said,) = seen.result.out_of_budget
    assert said.startswith(f"{ROOT}/train2.py, {ROOT}/train3.py, ") and said.endswith(": beyond the first 2 programs")


def test_callers_beyond_their_number_are_named() -> None:
    text = script("print('nothing')", "def wrap_it(model):\n    fully_shard(model)\n")
    text += "".join(f"\n\ndef build{number}(model):\n    wrap_it(model)\n" for number in range(4))
    with limited(callers=2):
        seen = analyse(text)
    (said,) = seen.result.out_of_budget
    assert said == f"{ROOT}/train.py:build2, {ROOT}/train.py:build3: too many call or inherit the same sharding code"


def test_a_loop_with_more_rounds_than_are_followed() -> None:
    """The elements that no round came to may have been sharded, or not."""
    text = script("""
        parts = [nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)]
        for part in parts:
            fully_shard(part)
        optimizer = torch.optim.AdamW(parts[3].parameters())
        fully_shard(parts[3])
    """)
    with limited(visits=2):
        cut = analyse(text)
    assert "FSDP304" not in cut.codes
    assert any("a loop of more than 2 rounds" in reason for reason in cut.reasons("FSDP304"))


def test_of_many_programs_that_share_their_sharding_code_the_first_get_more() -> None:
    lib = script("print('nothing')", "def wrap_it(model):\n    fully_shard(model)\n").replace("main()\n", "pass\n")
    run = "from {lib} import Net, wrap_it\n" + "x = 1\n" * 60 + "wrap_it(Net())\n"
    files = {"lib.py": lib, **{f"run{number}.py": run.format(lib="lib") for number in range(4)}}
    others = {"other.py": lib, "zrun.py": run.format(lib="other")}
    with limited(near=2, far_unsharded=50):
        cut = analyse({**files, **others}).result.out_of_budget
    assert [line.partition(":")[0] for line in cut] == [f"{ROOT}/run2.py", f"{ROOT}/run3.py"], "zrun.py shares nothing"


@pytest.mark.parametrize("steps", range(100, 1_000, 100))
def test_what_the_budget_ends_is_no_defect(steps: int) -> None:
    """A rule that asks for a value after the last step gets no answer, and has not broken down."""
    text = script("""
        model = Net()
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
        for batch in torch.load("batches.pt"):
            try:
                model(batch).sum().backward()
            except torch.cuda.OutOfMemoryError:
                continue
            optimizer.step()
    """)
    filler = "    number = 1\n" * 1_000
    with limited(script_steps=steps):
        cut = analyse(text.replace("\n\nif __name__", f"\n{filler}\n\nif __name__"))
    assert cut.result.out_of_budget and not cut.result.broken
