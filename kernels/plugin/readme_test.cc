// README.md is what people write plug-ins by: its tables are the registry's and the host's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "kernels/plugin/hosted_session.h"
#include "kernels/plugin/plugin_call.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/operations/registry.h"
#include "src/weights/random_drafter.h"

namespace draftmark::plugin {
namespace {

using ::testing::HasSubstr;

std::string Readme() { return ReadTextFile(TestData("kernels/plugin/README.md")).value(); }

std::string OperandText(const OperandSpec& spec) {
  const char* const role = spec.role == OperandRole::kInput    ? "in"
                           : spec.role == OperandRole::kOutput ? "out"
                                                               : "in-out";
  std::string text = fmt::format("{} `{}` {} [{}]", role, spec.name, DTypeName(spec.dtype),
                                 fmt::join(spec.shape, ", "));
  if (!spec.when.empty()) text += fmt::format(" if {}", spec.when);
  return text;
}

// A row of the table of operations.
std::string RowOf(const Operation& operation) {
  std::vector<std::string> attributes;
  for (const Attribute& attribute : operation.attributes) {
    attributes.push_back(fmt::format("{} {}", attribute.name, attribute.value));
  }
  std::vector<std::string> operands;
  for (const OperandSpec& spec : operation.operands) operands.push_back(OperandText(spec));
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", operation.name, operation.summary,
                     fmt::join(operation.keys, ", "), fmt::join(attributes, ", "),
                     fmt::join(operands, "; "));
}

TEST(ReadmeTest, ListsEveryOperation) {
  std::string rows;
  for (const Operation& operation : AllOperations()) rows += RowOf(operation);
  EXPECT_THAT(Readme(), HasSubstr(rows)) << "expected these rows:\n" << rows;
}

// "layers.0.window" as `layers.N.window`.
TEST(ReadmeTest, ListsEveryNumberOfASession) {
  const std::string readme = Readme();
  DrafterConfig config = SmallDrafterConfig();
  config.mask_token_id = 1;
  DM_ASSERT_OK_AND_ASSIGN(const auto numbers, NumbersOf(config));
  EXPECT_GT(numbers.size(), 30u);
  for (auto& [name, value] : numbers) {
    std::string pattern = name;
    for (const char* const list : {"layers.", "rope.frequency."}) {
      if (!pattern.starts_with(list)) continue;
      const std::size_t begin = std::string(list).size();
      const std::size_t end = pattern.find_first_not_of("0123456789", begin);
      pattern.replace(begin, (end == std::string::npos ? pattern.size() : end) - begin, "N");
    }
    EXPECT_THAT(readme, HasSubstr("`" + pattern + "`"));
  }
}

}  // namespace
}  // namespace draftmark::plugin
