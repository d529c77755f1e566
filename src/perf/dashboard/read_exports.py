"""read_exports.py FOLDER: reads the exports of exports_test.cc by other programs' readers and checks what they say."""

import csv
import json
import pathlib
import sys
import xml.etree.ElementTree

from prometheus_client.openmetrics.parser import text_string_to_metric_families

folder = pathlib.Path(sys.argv[1])
expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
spice = expected["spice"]


def equal(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: expected {wanted!r}, found {found!r}")


def read_csv(name):
    with open(folder / name, newline="", encoding="utf-8", errors="replace") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if None in row or None in row.values():
            sys.exit(f"{name}: a row of another length: {row!r}")
    return rows


points = read_csv("points.csv")
equal(len(points), expected["points"], "points.csv: rows")
last = {}
for row in points:
    last[row["architecture"], row["case"]] = float(row["seconds"])
equal(list(last.values()), expected["values"], "points.csv: newest values, bit for bit")
equal(points[0]["case"], "op/rms_norm/rows=16,h=4096/bf16" + spice, "points.csv: case")

verdicts = read_csv("verdicts.csv")
equal([row["verdict"] for row in verdicts], ["slower", "same", "invalid"], "verdicts.csv: verdicts")
equal(float(verdicts[0]["low"]), 1.022, "verdicts.csv: low")
equal(verdicts[2]["reason"], "the benchmark failed: out of memory" + spice, "verdicts.csv: reason")

suites = xml.etree.ElementTree.parse(folder / "junit.xml").getroot()
tests = list(suites.iter("testcase"))
equal(len(tests), 3 + 5 + 3 + 2, "junit.xml: tests")
for suite in suites:
    for name, element in [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]:
        equal(int(suite.get(name)), len(suite.findall(f"testcase/{element}")), f"junit.xml: {name}")
if "ä" in spice and "</script><script>alert(1)</script>" not in tests[0].get("name"):
    sys.exit(f"junit.xml: name {tests[0].get('name')!r}")

families = {
    family.name: family for family in text_string_to_metric_families((folder / "metrics.txt").read_text(encoding="utf-8"))
}
seconds = families["draftmark_case_seconds"]
equal((seconds.type, seconds.unit), ("gauge", "seconds"), "metrics.txt: type and unit")
equal([sample.value for sample in seconds.samples], expected["values"], "metrics.txt: newest values")
equal(seconds.samples[0].labels["case"], "op/rms_norm/rows=16,h=4096/bf16" + spice, "metrics.txt: case")
states = families["draftmark_case_verdict"]
equal(states.type, "stateset", "metrics.txt: verdicts")
on = [sample.labels["draftmark_case_verdict"] for sample in states.samples if sample.value == 1]
equal(on, ["slower", "same", "invalid"], "metrics.txt: verdicts")
equal(families["draftmark_run"].type, "info", "metrics.txt: runs")
grown = [sample.labels["field"] for sample in families["draftmark_count_grown"].samples if sample.value == 1]
equal(grown, ["q_buf" + spice], "metrics.txt: grown")
broken = [sample.labels["suite"] for sample in families["draftmark_suite_failed"].samples if sample.value == 1]
equal(broken, ["kernels/gpu_test" + spice], "metrics.txt: suites")
