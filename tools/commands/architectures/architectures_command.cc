#include "tools/commands/architectures/architectures_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

namespace draftmark {
namespace {

struct Options {
  bool junit = false;
  OutputFormat format = OutputFormat::kText;
};

std::string XmlText(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string ArchitecturesText(const Architectures& known) {
  const std::vector<ArchitectureRow>& rows = known.rows;
  std::set<std::string> all;
  for (const ArchitectureRow& row : rows) all.insert(row.operation);
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto same = [&](const ArchitectureRow& row) {
      return row.architecture == rows[i].architecture && row.Text() == rows[i].Text();
    };
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(rows.begin(), begin, same) != begin) continue;  // told with an earlier one
    std::string operations;
    std::size_t count = 0;
    for (const ArchitectureRow& row : rows) {
      if (!same(row)) continue;
      operations += (count == 0 ? "" : ", ") + row.operation;
      ++count;
    }
    if (count == all.size()) operations = "all";
    text += fmt::format("{:7} {}: {}\n", rows[i].architecture, rows[i].Text(), operations);
  }
  for (const std::string& file : known.not_counted) {
    text += fmt::format("not counted: {}\n", file);
  }
  return text;
}

OrderedJson ArchitecturesJson(const Architectures& known) {
  OrderedJson list = OrderedJson::array();
  for (const ArchitectureRow& row : known.rows) {
    list.push_back({{"architecture", row.architecture},
                    {"operation", row.operation},
                    {"state", ArchitectureStateName(row.state)},
                    {"detail", row.detail}});
  }
  return {{"schema_version", 1},
          {"built", BuiltArchs()},
          {"rows", list},
          {"not_counted", known.not_counted}};
}

std::string ArchitecturesJunit(const std::vector<ArchitectureRow>& rows) {
  std::size_t skipped = 0;
  std::string cases;
  for (const ArchitectureRow& row : rows) {
    const bool run = row.state == ArchitectureState::kRun;
    if (!run) ++skipped;
    cases +=
        fmt::format("    <testcase name=\"{} on {}\" classname=\"architectures\">{}</testcase>\n",
                    XmlText(row.operation), XmlText(row.architecture),
                    run ? "" : fmt::format("<skipped message=\"{}\"/>", XmlText(row.Text())));
  }
  return fmt::format(
      "  <testsuite name=\"architectures\" tests=\"{}\" failures=\"0\" errors=\"0\" "
      "skipped=\"{}\">\n{}  </testsuite>\n",
      rows.size(), skipped, cases);
}

void AddArchitecturesCommand(CLI::App& app, CommandContext& context) {
  CLI::App* const command =
      app.add_subcommand("architectures",
                         "what was run, compiled, or neither, of each operation on each GPU "
                         "architecture");
  auto options = std::make_shared<Options>();
  CLI::Option* const junit = command->add_flag("--junit", options->junit,
                                               "prints a test suite for a JUnit report instead");
  AddFormatOption(*command, options->format);
  command->get_option("--format")->excludes(junit);
  command->callback([options, &context] {
    const StatusOr<Architectures> known = ReadArchitecturesOfCheckout();
    if (!known.ok()) return context.Fail(known.status());
    if (options->junit) {
      context.out << ArchitecturesJunit(known->rows);
    } else if (options->format == OutputFormat::kJson) {
      PrintJson(context.out, ArchitecturesJson(*known));
    } else {
      context.out << ArchitecturesText(*known);
    }
  });
}

}  // namespace draftmark
