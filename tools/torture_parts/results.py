"""What came of each scenario: the last line, the exit code, and a JUnit report with one case for each."""
import dataclasses
import re
import xml.etree.ElementTree as ElementTree

NOTHING_RAN = 3

# XML has no form for these; a program's output may have them.
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclasses.dataclass
class Result:
    name: str
    problems: list = dataclasses.field(default_factory=list)
    skipped: str = ""  # the reason


def summary(results):
    """(the last line, the exit code)"""
    skipped = sum(bool(result.skipped) for result in results)
    lost = sum(bool(result.problems) for result in results)
    counts = f"{len(results) - skipped} scenarios ran, {skipped} skipped"
    if lost:
        return f"{lost} lost something: {counts}", 1
    # Where everything is skipped nothing has been shown.
    return (f"nothing lost: {counts}", 0) if skipped < len(results) else (f"nothing tried: {counts}", NOTHING_RAN)


def write_junit(results, path):
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name="torture")
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname="torture", name=result.name)
        if result.skipped:
            ElementTree.SubElement(case, "skipped", message=NOT_IN_XML.sub("?", result.skipped))
        elif result.problems:
            text = NOT_IN_XML.sub("?", "\n".join(result.problems))
            ElementTree.SubElement(case, "failure", message=text.splitlines()[0]).text = text
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
