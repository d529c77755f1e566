// GoogleTest matchers for Status and StatusOr.
//
//   EXPECT_THAT(status, IsOk());
//   EXPECT_THAT(Load(path), StatusIs(StatusCode::kDataLoss, HasSubstr("header")));
//   DM_ASSERT_OK_AND_ASSIGN(const auto config, Load(path));
#ifndef DRAFTMARK_SRC_BASE_STATUS_MATCHERS_H_
#define DRAFTMARK_SRC_BASE_STATUS_MATCHERS_H_

#include <ostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status.h"

namespace draftmark {

// GoogleTest finds these by argument-dependent look-up and prints messages instead of bytes.
inline void PrintTo(const Status& status, std::ostream* os) { *os << status.ToString(); }
template <typename T>
void PrintTo(const StatusOr<T>& result, std::ostream* os) {
  *os << (result.ok() ? std::string("OK with a value") : result.status().ToString());
}

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return arg.ok();
}

MATCHER_P2(StatusIs, code, message_matcher,
           std::string("has code ") + std::string(StatusCodeName(code)) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message_matcher)) {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::Matches(message_matcher)(StatusOf(arg).message());
}

}  // namespace draftmark

#define DM_ASSERT_OK_AND_ASSIGN(lhs, expr) \
  DM_ASSERT_OK_AND_ASSIGN_IMPL(DM_CONCAT(dm_status_or_, __LINE__), lhs, expr)
#define DM_ASSERT_OK_AND_ASSIGN_IMPL(temporary, lhs, expr)      \
  auto temporary = (expr);                                      \
  ASSERT_TRUE(temporary.ok()) << temporary.status().ToString(); \
  lhs = std::move(temporary).value()

#endif  // DRAFTMARK_SRC_BASE_STATUS_MATCHERS_H_
