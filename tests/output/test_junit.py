"""JUnit XML."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output import render
from fsdp2_lint.vocab.finding import Finding
from tests import fake
from tests.output.conftest import any_findings


def test_a_story(story: Finding) -> None:
    assert render("junit", [story], Sources()) == (
        "<?xml version='1.0' encoding='us-ascii'?>\n"
        '<testsuites name="fsdp2-lint" tests="1" failures="1" errors="0" skipped="0">\n'
        '  <testsuite name="fsdp2-lint" tests="1" failures="1" errors="0" skipped="0">\n'
        '    <testcase classname="train.py" name="FSDP601 optimizer-before-sharding at train.py:4:17" file="train.py"'
        ' line="4">\n'
        '      <failure type="error" message="the optimizer holds parameters that fully_shard replaces">'
        "train.py:4:17: FSDP601 the optimizer holds parameters that fully_shard replaces\n"
        "  pkg/parallel.py:2: replaces them\n"
        "  /elsewhere/lib.py:7: called here\n"
        "  help: build it after the last fully_shard</failure>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_no_findings_are_one_test_that_passes() -> None:
    assert render("junit", [], Sources()) == (
        "<?xml version='1.0' encoding='us-ascii'?>\n"
        '<testsuites name="fsdp2-lint" tests="1" failures="0" errors="0" skipped="0">\n'
        '  <testsuite name="fsdp2-lint" tests="1" failures="0" errors="0" skipped="0">\n'
        '    <testcase classname="fsdp2-lint" name="no findings" />\n'
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_what_xml_cannot_hold_is_left_out(tmp_path: Path) -> None:
    bad = fake.finding(fake.site(tmp_path / "a.py", 1), message="<a & 'b'> \x00\x1b[31m\ufffe\ud800 é 名")
    text = render("junit", [bad], Sources())
    assert text.isascii()
    (failure,) = ElementTree.fromstring(text).iter("failure")
    assert failure.text is not None and "FSDP601 <a & 'b'> " in failure.text and failure.text.count("é 名") == 1
    assert not {"\x00", "\x1b", "\ufffe", "\ud800"} & {*failure.text, *failure.attrib["message"]}


@given(any_findings)
def test_any_finding_is_a_test_that_fails(found: list[Finding]) -> None:
    root = ElementTree.fromstring(render("junit", found, Sources()))
    suite = root[0]
    assert root.attrib == suite.attrib | {"name": "fsdp2-lint"}
    assert len([*suite]) == int(suite.attrib["tests"]) == max(len(found), 1)
    assert len([*root.iter("failure")]) == int(suite.attrib["failures"]) == len(found)
