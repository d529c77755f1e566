#include "src/perf/history/junit_reader.h"

#include <expat.h>
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "src/perf/history/import_facts.h"

namespace draftmark {
namespace {

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

std::string AttributeOf(const XML_Char** attributes, std::string_view name) {
  for (; attributes[0] != nullptr; attributes += 2) {
    if (name == attributes[0]) return attributes[1];
  }
  return "";
}

// Expat 2.9 has a new name for it, which Debian 12's 2.5 does not know.
std::uint64_t CurrentLine(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
  return XML_GetCurrentLineNumber64(parser);
#else
  return XML_GetCurrentLineNumber(parser);
#endif
}

// Collects the tests while expat walks through the elements.
class Collector {
 public:
  explicit Collector(XML_Parser parser) : parser_(parser) {}

  std::vector<TestResult> tests;
  bool has_root = false;
  std::uint64_t nameless_line = 0;  // of the first test that has no name; 0: each has one

  void Start(std::string_view element, const XML_Char** attributes) {
    if (element == "testsuites") has_root = true;
    if (element == "testsuite") suite_ = AttributeOf(attributes, "name");
    if (element == "testcase") {
      // The bundle's own suites have no other name than their class.
      current_ = {.suite = CleanText(suite_), .test = CleanText(AttributeOf(attributes, "name"))};
      if (current_.test.empty() && nameless_line == 0) nameless_line = CurrentLine(parser_);
      if (AttributeOf(attributes, "result") == "skipped") current_.status = "skipped";
    }
    if (current_.test.empty() ||
        (element != "failure" && element != "error" && element != "skipped")) {
      return;
    }
    if (current_.status.empty() || current_.status == "skipped") {
      current_.status = element == "failure" ? "failed" : std::string(element);
      current_.message = CleanText(AttributeOf(attributes, "message"));
    }
  }
  void End(std::string_view element) {
    if (element != "testcase") return;
    if (!current_.status.empty()) {
      const int times = ++names_[{current_.suite, current_.test}];
      if (times > 1) current_.test += fmt::format(" #{}", times);
      tests.push_back(std::move(current_));
    }
    current_ = {};
  }

 private:
  const XML_Parser parser_;
  std::string suite_;
  TestResult current_;
  std::map<std::pair<std::string, std::string>, int> names_;
};

}  // namespace

StatusOr<std::vector<TestResult>> ReadJunit(std::string_view text, const std::string& source) {
  const Parser parser(XML_ParserCreate(nullptr));
  if (parser == nullptr) return ResourceExhaustedError(source + ": no memory to read it");
  Collector collector(parser.get());
  XML_SetUserData(parser.get(), &collector);
  XML_SetElementHandler(
      parser.get(),
      [](void* user, const XML_Char* name, const XML_Char** attributes) {
        static_cast<Collector*>(user)->Start(name, attributes);
      },
      [](void* user, const XML_Char* name) { static_cast<Collector*>(user)->End(name); });
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return ResourceExhaustedError(source + ": too long for a JUnit report");
  }
  if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), /*isFinal=*/1) !=
      XML_STATUS_OK) {
    return DataLossError(fmt::format("{}:{}: not well-formed XML: {}", source,
                                     CurrentLine(parser.get()),
                                     XML_ErrorString(XML_GetErrorCode(parser.get()))));
  }
  if (!collector.has_root) {
    return DataLossError(source + ": expected a JUnit report, found no <testsuites>");
  }
  if (collector.nameless_line != 0) {
    // What it says could be of any test, and a failure that nobody can find is none.
    return DataLossError(
        fmt::format("{}:{}: expected a <testcase> with a name", source, collector.nameless_line));
  }
  return std::move(collector.tests);
}

}  // namespace draftmark
