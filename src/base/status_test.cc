#include "src/base/status.h"

#include <cerrno>
#include <memory>

#include "src/base/errno_status.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusTest, DefaultIsOk) {
  EXPECT_THAT(Status(), IsOk());
  EXPECT_EQ(Status().ToString(), "OK");
}

TEST(StatusTest, CarriesCodeAndMessage) {
  const Status status = DataLossError("a.safetensors: truncated");
  EXPECT_THAT(status, Not(IsOk()));
  EXPECT_EQ(status.ToString(), "DATA_LOSS: a.safetensors: truncated");
  EXPECT_THAT(status.Annotated("case x"),
              StatusIs(StatusCode::kDataLoss, "case x: a.safetensors: truncated"));
  EXPECT_THAT(OkStatus().Annotated("case x"), IsOk());
}

// Whoever makes it: a name out of a file is not to command a terminal.
TEST(StatusTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Status(StatusCode::kInternal, "a\x1b[31m\nb").message(), "a\\x1b[31m\nb");
  EXPECT_EQ(NotFoundError("\x07").message(), "\\x07");
  EXPECT_EQ(NotFoundError("b").Annotated("a\r").message(), "a\\x0d: b");
  EXPECT_THAT(ErrnoStatus(ENOENT, "open", "n\x1b[31m"),
              StatusIs(StatusCode::kNotFound, HasSubstr("cannot open n\\x1b[31m: ")));
}

StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgumentError("odd");
  return value / 2;
}

StatusOr<int> Quarter(int value) {
  DM_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

Status CheckQuarter(int value) {
  DM_RETURN_IF_ERROR(Quarter(value).status());
  return OkStatus();
}

TEST(StatusOrTest, MacrosPassErrorsOn) {
  EXPECT_EQ(Quarter(12).value(), 3);
  EXPECT_THAT(Quarter(6), StatusIs(StatusCode::kInvalidArgument, HasSubstr("odd")));
  EXPECT_THAT(CheckQuarter(7), Not(IsOk()));
  EXPECT_THAT(CheckQuarter(8), IsOk());
}

TEST(StatusOrTest, HoldsMoveOnlyValues) {
  StatusOr<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(StatusOrDeathTest, ValueOfAnErrorIsABug) {
  EXPECT_DEATH((void)Half(3).value(), "check failed");
}

}  // namespace
}  // namespace draftmark
