#include "tools/commands/u64_option.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

TEST(ParseU64Test, TakesTheWholeRange) {
  EXPECT_EQ(ParseU64("0").value(), 0u);
  EXPECT_EQ(ParseU64("18446744073709551615").value(), ~std::uint64_t{0});
  EXPECT_EQ(ParseU64("007").value(), 7u);
}

TEST(ParseU64Test, RefusesEverythingElse) {
  for (const char* text :
       {"", "-1", "+1", "1.5", "1e3", "0x10", " 1", "1 ", "18446744073709551616", "ten", "1_000"}) {
    EXPECT_THAT(ParseU64(text),
                StatusIs(StatusCode::kInvalidArgument,
                         "expected an unsigned 64-bit integer, found " + std::string(text)));
  }
}

}  // namespace
}  // namespace draftmark
