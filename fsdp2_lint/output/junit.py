"""JUnit XML: each finding is a test that fails. Without findings there is one test, which passes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from fsdp2_lint.files.source import Sources, display_path, place
from fsdp2_lint.findings.outcome import ALL_SEEN, Unseen
from fsdp2_lint.output.terminal import clean, one_line
from fsdp2_lint.output.words import story
from fsdp2_lint.vocab.finding import Finding

# What XML 1.0 has no way to write, not even as a reference.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False, unseen: Unseen = ALL_SEEN) -> str:
    """XML as JUnit's readers take it: a finding is a test that failed, what was not checked one with an error."""
    suites = ElementTree.Element("testsuites", name="fsdp2-lint")
    suite = ElementTree.SubElement(suites, "testsuite", name="fsdp2-lint")
    for finding in findings:
        _case(suite, finding, sources)
    for line in unseen.failures:
        case = ElementTree.SubElement(suite, "testcase", classname="fsdp2-lint", name="not checked")
        ElementTree.SubElement(case, "error", message=_text(clean(line)))
    if not findings and not unseen.failures:
        ElementTree.SubElement(suite, "testcase", classname="fsdp2-lint", name="no findings")
    tests = len(suite)
    if unseen.notes:
        ElementTree.SubElement(suite, "system-err").text = _text("\n".join(map(one_line, unseen.notes)))
    for element in (suites, suite):
        counts = {"tests": tests, "failures": len(findings), "errors": len(unseen.failures), "skipped": 0}
        element.attrib.update({key: str(number) for key, number in counts.items()})
    ElementTree.indent(suites)
    # ASCII: other characters become references, so the declaration is true on every stream.
    data: bytes = ElementTree.tostring(suites, encoding="us-ascii", xml_declaration=True)
    # References also keep a log's reader from taking a line for a command.
    return data.decode().replace("##", "&#35;#").replace("::", "&#58;:") + "\n"


def _case(suite: ElementTree.Element, finding: Finding, sources: Sources) -> None:
    path = _text(display_path(finding.primary.site.path))
    name = _text(f"{finding.code} {finding.name} at {place(finding.primary.site)}")
    case = ElementTree.SubElement(suite, "testcase", classname=path, name=name, file=path)
    at = finding.primary.site
    case.set("line", str(sources.row_in_file(at) if at.cell else at.row))
    failure = ElementTree.SubElement(case, "failure", type=finding.severity.value, message=_text(finding.message))
    failure.text = _text(story(finding))


def _text(text: str) -> str:
    return _NOT_XML.sub("", text)
