// The fields of each record, declared once: writing, reading and checking are visitors of these.
//
//   Fields(visitor, point);   // calls visitor("case", point.case_id), ...
//   Items(visitor, run);      // calls visitor.List("point", run.points), ...
//
// A name here is a key of the JSONL format (record_jsonl.h). For the files of this folder only.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_RECORD_FIELDS_H_
#define DRAFTMARK_SRC_PERF_HISTORY_RECORD_FIELDS_H_

#include <concepts>
#include <type_traits>

#include "src/perf/history/record.h"

namespace draftmark {

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename V, Is<Environment> E>
void Fields(V& v, E& e) {
  v("architecture", e.architecture);
  v("gpu", e.gpu);
  v("driver", e.driver);
  v("cuda", e.cuda);
  v("clocks", e.clocks);
}

template <typename V, Is<Point> P>
void Fields(V& v, P& p) {
  v("case", p.case_id);
  v("schema", p.schema);
  v("seconds", p.seconds);
  v("median_seconds", p.median);
  v("samples", p.samples);
  v("voided", p.voided);
  v("unit", p.unit);
  v("marks", p.marks);
  v("failure", p.failure);
  v("reproduce", p.reproduce);
  v("bytes_per_second", p.bytes_per_second);
  v("flops_per_second", p.flops_per_second);
  v("copy_share", p.copy_share);
  v("floor_share", p.floor_share);
  v("counts", p.counts);
  v("numbers", p.numbers);
}

template <typename V, Is<ConformanceResult> C>
void Fields(V& v, C& c) {
  v("case", c.case_id);
  v("precision", c.precision);
  v("backend", c.backend);
  v("variant", c.variant);
  v("status", c.status);
  v("used_share", c.used_share);
  v("signature", c.signature);
  v("waiver", c.waiver);
  v("expires", c.expires);
  v("reproduce", c.reproduce);
}

template <typename V, Is<SuiteResult> S>
void Fields(V& v, S& s) {
  v("name", s.name);
  v("passed", s.passed);
  v("failed", s.failed);
  v("skipped", s.skipped);
  v("problem", s.problem);
}

template <typename V, Is<TestResult> T>
void Fields(V& v, T& t) {
  v("suite", t.suite);
  v("test", t.test);
  v("status", t.status);
  v("message", t.message);
}

template <typename V, Is<RunRecord> R>
void Fields(V& v, R& r) {
  v("time", r.time);
  v("night", r.night);
  v("commit", r.commit);
  v("environment", r.environment);
  v("program", r.program);
  v("session", r.session);
  v("number", r.number);
  v("valid", r.valid);
  v("reason", r.reason);
  v("command", r.command);
  v("source", r.source);
  v("source_sha256", r.source_sha256);
  v("context", r.context);
}
template <typename V, Is<RunRecord> R>
void Items(V& v, R& r) {
  v.List("point", r.points);
  v.List("conformance", r.conformance);
  v.List("suite", r.suites);
  v.List("test", r.tests);
}

template <typename V, Is<GateVerdict> G>
void Fields(V& v, G& g) {
  v("case", g.case_id);
  v("schema", g.schema);
  v("metric", g.metric);
  v("verdict", g.verdict);
  v("reason", g.reason);
  v("ratio", g.ratio);
  v("ci_low", g.ci_low);
  v("ci_high", g.ci_high);
  v("p", g.p);
  v("variation", g.variation);
  v("detectable", g.detectable);
  v("floor", g.floor);
  v("base_seconds", g.base);
  v("new_seconds", g.next);
  v("base_runs", g.base_runs);
  v("new_runs", g.next_runs);
  v("old_count", g.old_count);
  v("new_count", g.new_count);
  v("confirmed", g.confirmed);
  v("reproduce", g.reproduce);
}

template <typename V, Is<ChangePoint> C>
void Fields(V& v, C& c) {
  v("case", c.case_id);
  v("schema", c.schema);
  v("night", c.night);
  v("commit", c.commit);
  v("before_seconds", c.before);
  v("after_seconds", c.after);
  v("confirmed", c.confirmed);
}

template <typename V, Is<GateRecord> G>
void Fields(V& v, G& g) {
  v("time", g.time);
  v("night", g.night);
  v("mode", g.mode);
  v("environment", g.environment);
  v("base_commit", g.base_commit);
  v("new_commit", g.next_commit);
  v("verdict", g.verdict);
  v("exit_code", g.exit_code);
  v("advisory", g.advisory);
  v("command", g.command);
  v("context", g.context);
  v("base_runs", g.base_runs);
  v("new_runs", g.next_runs);
}
template <typename V, Is<GateRecord> G>
void Items(V& v, G& g) {
  v.List("verdict", g.verdicts);
  v.List("change_point", g.change_points);
}

template <typename V, Is<AaResult> A>
void Fields(V& v, A& a) {
  v("case", a.case_id);
  v("schema", a.schema);
  v("comparisons", a.comparisons);
  v("false_alarms", a.false_alarms);
  v("unclear", a.unclear);
  v("invalid", a.invalid);
  v("spread", a.spread);
  v("detectable", a.detectable);
}

template <typename V, Is<AaRecord> A>
void Fields(V& v, A& a) {
  v("time", a.time);
  v("environment", a.environment);
  v("commit", a.commit);
  v("advisory", a.advisory);
  v("command", a.command);
  v("context", a.context);
}
template <typename V, Is<AaRecord> A>
void Items(V& v, A& a) {
  v.List("result", a.results);
}

template <typename V, Is<AcceptRecord> A>
void Fields(V& v, A& a) {
  v("time", a.time);
  v("architecture", a.architecture);
  v("case", a.case_id);
  v("schema", a.schema);
  v("field", a.field);
  v("old", a.old_value);
  v("new", a.new_value);
  v("reason", a.reason);
  v("commit", a.commit);
}
template <typename V, Is<AcceptRecord> A>
void Items(V&, A&) {}

template <typename V, Is<ReleaseRecord> R>
void Fields(V& v, R& r) {
  v("time", r.time);
  v("name", r.name);
  v("commit", r.commit);
  v("note", r.note);
}
template <typename V, Is<ReleaseRecord> R>
void Items(V&, R&) {}

template <typename V, Is<NightPoint> N>
void Fields(V& v, N& n) {
  v("case", n.case_id);
  v("schema", n.schema);
  v("seconds", n.seconds);
  v("low_seconds", n.low);
  v("high_seconds", n.high);
  v("runs", n.runs);
  v("samples", n.samples);
  v("unit", n.unit);
  v("copy_share", n.copy_share);
  v("floor_share", n.floor_share);
  v("counts", n.counts);
}

template <typename V, Is<NightRecord> N>
void Fields(V& v, N& n) {
  v("time", n.time);
  v("night", n.night);
  v("environment", n.environment);
  v("commit", n.commit);
  v("replaces", n.replaces);
}
template <typename V, Is<NightRecord> N>
void Items(V& v, N& n) {
  v.List("night_point", n.points);
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_RECORD_FIELDS_H_
