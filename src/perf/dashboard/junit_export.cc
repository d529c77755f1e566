#include <fmt/format.h>

#include "src/perf/dashboard/exports.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/tally.h"

namespace draftmark {
namespace {

class Suite {
 public:
  explicit Suite(std::string name) : name_(std::move(name)) {}

  void Pass(const std::string& test) { Add(test, ""); }
  void Fail(const std::string& test, const std::string& message, const std::string& text) {
    ++failures_;
    Add(test, Element("failure", message, text));
  }
  void Error(const std::string& test, const std::string& message, const std::string& text) {
    ++errors_;
    Add(test, Element("error", message, text));
  }
  void Skip(const std::string& test, const std::string& message) {
    ++skipped_;
    Add(test, Element("skipped", message, ""));
  }

  // Empty without tests.
  std::string Xml() const {
    if (tests_ == 0) return "";
    return fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}"
        "  </testsuite>\n",
        HtmlText(name_), tests_, failures_, errors_, skipped_, cases_);
  }

 private:
  static std::string Element(const char* name, const std::string& message,
                             const std::string& text) {
    return fmt::format("<{0} message=\"{1}\">{2}</{0}>", name, HtmlText(message), HtmlText(text));
  }
  void Add(const std::string& test, const std::string& element) {
    ++tests_;
    cases_ += fmt::format("    <testcase classname=\"{}\" name=\"{}\"{}\n", HtmlText(name_),
                          HtmlText(test), element.empty() ? "/>" : ">" + element + "</testcase>");
  }

  std::string name_;
  std::string cases_;
  std::size_t tests_ = 0;
  std::size_t failures_ = 0;
  std::size_t errors_ = 0;
  std::size_t skipped_ = 0;
};

void AddVerdict(const DashboardVerdict& verdict, Suite& suite) {
  const std::string name =
      verdict.metric.empty() ? verdict.case_id : verdict.case_id + " " + verdict.metric;
  const std::string change = verdict.ratio ? ChangeText(*verdict.ratio - 1) + " from " +
                                                 verdict.base_commit + " to " + verdict.commit
                                           : verdict.commit;
  switch (verdict.verdict) {
    case Verdict::kSlower:
      return suite.Fail(name, "slower: " + change, verdict.reproduce);
    case Verdict::kInvalid:
      return suite.Error(name, "invalid: " + verdict.reason, verdict.reproduce);
    case Verdict::kUnclear:
      return suite.Skip(name, "unclear: " + verdict.reason);
    case Verdict::kFaster:
    case Verdict::kSame:
      return suite.Pass(name);
  }
}

Suite CountsSuite(const DashboardData& data) {
  Suite suite("counts");
  for (const DashboardCount& count : data.counts) {
    std::string name = count.case_id + " " + count.field;
    if (!count.architecture.empty()) name += " on " + count.architecture;
    if (HasGrown(count)) {
      suite.Fail(name, fmt::format("{} is recorded, {} found", *count.recorded, count.value), "");
    } else {
      suite.Pass(name);
    }
  }
  return suite;
}

Suite ConformanceSuite(const DashboardData& data) {
  Suite suite("conformance");
  for (const MatrixCell& cell : data.conformance) {
    const std::string name = cell.operation + " on " + cell.architecture;
    switch (cell.state) {
      case CellState::kPassed:
        suite.Pass(name);
        break;
      case CellState::kWaived:
        suite.Skip(name, "waived: " + cell.detail);
        break;
      case CellState::kNeverRun:
        suite.Skip(name, cell.detail.empty() ? "never run" : cell.detail);
        break;
      case CellState::kFailed:
        suite.Fail(name, cell.detail, "");
        break;
    }
  }
  return suite;
}

Suite SuitesSuite(const DashboardData& data) {
  Suite suite("suites");
  for (const DashboardSuite& one : data.suites) {
    const std::string name = one.name + " on " + one.architecture;
    if (one.failed) {
      suite.Fail(name, fmt::format("{} failed, {} passed", one.failures, one.passed), one.detail);
    } else {
      suite.Pass(name);
    }
  }
  return suite;
}

}  // namespace

std::string JunitXml(const DashboardData& data) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  const std::vector<std::size_t> newest = NewestVerdicts(data);
  for (std::size_t testbed = 0; testbed < data.testbeds.size(); ++testbed) {
    Suite suite("perf " + TestbedText(data.testbeds[testbed]));
    for (const std::size_t i : newest) {
      if (data.verdicts[i].testbed == testbed) AddVerdict(data.verdicts[i], suite);
    }
    xml += suite.Xml();
  }
  return xml + CountsSuite(data).Xml() + ConformanceSuite(data).Xml() + SuitesSuite(data).Xml() +
         "</testsuites>\n";
}

}  // namespace draftmark
