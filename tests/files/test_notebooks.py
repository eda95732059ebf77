"""Notebooks are checked as one program, and findings say the cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.files.notebooks import read, rows_in_file
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint
from fsdp2_lint.output import render
from fsdp2_lint.vocab.finding import Site

IMPORTS = """\
%pip install torch
import torch
import torch.nn as nn
from torch.distributed.fsdp import fully_shard
!nvidia-smi
files = !ls
torch?
"""
MODEL = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
EARLY = "model = Net()\noptimizer = torch.optim.AdamW(model.parameters())"
SHARDING = "%%time\nfor layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)"
STEP = "model(torch.ones(2, 8)).sum().backward()\noptimizer.step()"
CELLS = (("markdown", "# About fully_shard"), *(("code", each) for each in (IMPORTS, MODEL, EARLY, SHARDING, STEP)))


def notebook(*cells: tuple[str, str], **metadata: object) -> bytes:
    held = [{"cell_type": kind, "source": source.splitlines(keepends=True), "outputs": []} for kind, source in cells]
    return json.dumps({"cells": held, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def check(folder: Path, *cells: tuple[str, str], **metadata: object) -> Report:
    (folder / "train.ipynb").write_bytes(notebook(*cells, **metadata))
    return lint([str(folder)])


sources = st.lists(st.text('a "\\[]{},:é#\n', max_size=12), min_size=1, max_size=4)


@given(sources, st.sampled_from([None, 0, 1, 4]), st.booleans())
def test_each_row_is_found_in_the_file(texts: list[str], indent: int | None, whole: bool) -> None:
    """However the notebook is written: a row of a cell is on the row of the file that has it."""
    cells = [
        {"metadata": {"source": ["not this"]}, "source": text if whole else text.splitlines(keepends=True)}
        for text in texts
    ]
    data = json.dumps({"metadata": {"cells": [1, {}]}, "cells": cells}, indent=indent).encode()
    found = rows_in_file(data)
    written = data.decode().split("\n")
    for number, text in enumerate(texts, start=1):
        for row, line in enumerate(text.split("\n"), start=1):
            if line:
                assert json.dumps(line)[1:-1] in written[found[number][row - 1] - 1]


@pytest.mark.parametrize("data", [b"", b"x", b'"cells"', b"[]", b"{", b'{"cells": [', b"\xff{}"])
def test_what_is_no_notebook_has_no_rows(data: bytes) -> None:
    assert rows_in_file(data) == {}


@pytest.mark.parametrize(("indent", "row"), [(1, 42), (None, 1)])
def test_services_are_told_the_row_of_the_file(tmp_path: Path, indent: int | None, row: int) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps(json.loads(notebook(*CELLS)), indent=indent))
    report = lint([str(path)])
    assert '"optimizer = ' in path.read_text().split("\n")[row - 1]
    (one,) = json.loads(render("sarif", report.findings, report.sources))["runs"][0]["results"]
    assert one["locations"][0]["physicalLocation"]["region"] == {"startLine": row}
    (one,) = json.loads(render("gitlab", report.findings, report.sources))
    assert one["location"]["positions"]["begin"] == {"line": row, "column": 1}
    (one,) = json.loads(render("rdjson", report.findings, report.sources))["diagnostics"]
    assert one["location"]["range"] == {"start": {"line": row}} and "cell 4:2" in one["message"]
    assert f"line={row}::" in render("github", report.findings, report.sources)
    assert f'line="{row}"' in render("junit", report.findings, report.sources)


def test_a_fault_across_cells(tmp_path: Path) -> None:
    report = check(tmp_path, *CELLS)
    (finding,) = report.findings
    assert finding.code == "FSDP601" and report.failures == report.notes == []
    assert [(site.cell, site.row) for site in finding.sites] == [(4, 2), (5, 4)]
    (model, *_) = report.models
    assert (model.site.cell, model.site.row) == (4, 1)


def test_how_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = check(tmp_path, *CELLS)
    monkeypatch.chdir(tmp_path)
    text = render("full", report.findings, report.sources)
    assert "--> train.ipynb:cell 4:2:13\n" in text and "::: train.ipynb:cell 5:4:1\n" in text
    assert "2 | optimizer = torch.optim.AdamW(model.parameters())" in text and "4 | fully_shard(model)" in text
    assert "train.ipynb:cell 4:2:13: FSDP601 error" in render("concise", report.findings, report.sources)
    (values,) = json.loads(render("json", report.findings, report.sources))
    assert (values["cell"], values["location"]) == (4, {"row": 2, "column": 13})
    assert values["related"][0]["cell"] == 5


def test_a_cell_can_silence_its_finding(tmp_path: Path) -> None:
    early = EARLY + "  # fsdp2-lint: ignore[FSDP601] shown on purpose"
    report = check(tmp_path, *CELLS[:3], ("code", early), *CELLS[4:])
    assert report.findings == [] and [finding.code for finding in report.silenced] == ["FSDP601"]


def test_a_cell_that_is_no_python_is_a_finding(tmp_path: Path) -> None:
    report = check(tmp_path, *CELLS[:4], ("code", "x = 1\ndef\n"))
    assert [(each.code, each.primary.site.cell, each.primary.site.row) for each in report.findings] == [
        ("FSDP000", 5, 2)
    ]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("%matplotlib inline\nx = 1", ["pass", "x = 1"]),
        ("if x:\n    !ls {y}\n", ["if x:", "    pass", ""]),
        ("a = %timeit -o f()", ["a = get_ipython()"]),
        ("x, y = !ls", ["x, y = get_ipython()"]),
        ("cd ..\npip install -q torch\nls -la", ["pass", "pass", "pass"]),
        ("cp = 3\ncp == 3\nls in x\nls\ncat (1)", ["cp = 3", "cp == 3", "ls in x", "ls", "cat (1)"]),
        ("model.layers??", ["pass"]),
        ("%%bash\nls\nrm -r /", ["#", "#", "#"]),
        ("%%capture out\nx = 1", ["pass", "x = 1"]),
        ('!A= run x \\\n    --kind "a" \\\n  --dir {out}\nx = 1', ["pass", "#", "#", "x = 1"]),
        ("%run train.py \\\n  --fast\nx = 1", ["pass", "#", "x = 1"]),
        ("x = !ls \\\n  -l\ny = 2 + \\\n  3", ["x = get_ipython()", "#", "y = 2 + \\", "  3"]),
        ("x = (a\n     % b)\n# why?\ns = 'is it?'", ["x = (a", "     % b)", "# why?", "s = 'is it?'"]),
    ],
)
def test_what_ipython_takes_for_itself(text: str, rows: list[str]) -> None:
    found = read(notebook(("code", text)))
    assert found is not None and found.source.decode().split("\n")[:-1] == rows


def test_other_languages_are_left_out(tmp_path: Path) -> None:
    assert read(notebook(*CELLS, kernelspec={"language": "R"})) is None
    (tmp_path / "plain.py").write_text("")
    assert check(tmp_path, *CELLS, kernelspec={"language": "julia"}).files == [str(tmp_path / "plain.py")]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"cells": 1}', b"\xff\xfe{}", b'{"worksheets": []}'])
def test_what_is_no_notebook_is_said(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "broken.ipynb"
    file.write_bytes(data)
    report = lint([str(file)])
    assert len(report.failures) == 1 and "is not a notebook" in report.failures[0]
    (tmp_path / "plain.py").write_text("")
    assert lint([str(tmp_path)]).failures == [], "one that says nothing of FSDP2 is nobody's concern"


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), st.text(max_size=30)), max_size=6))
def test_every_row_leads_back_to_its_cell(cells: list[tuple[str, str]]) -> None:
    data = json.dumps({"cells": [{"cell_type": kind, "source": text} for kind, text in cells]}).encode()
    found = read(data)
    assert found is not None
    row = 0
    for number, (kind, text) in enumerate(cells, start=1):
        for inside in range(1, text.count("\n") + 2 if kind == "code" else 1):
            row += 1
            site = found.place(Site("x.ipynb", row, 1))
            assert (site.cell, site.row, found.row(site)) == (number, inside, row)
    assert found.source.count(b"\n") == row
