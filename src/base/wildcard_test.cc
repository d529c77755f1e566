#include "src/base/wildcard.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

TEST(WildcardTest, Matches) {
  EXPECT_TRUE(WildcardMatches("abc", "abc"));
  EXPECT_TRUE(WildcardMatches("a*c", "ac"));
  EXPECT_TRUE(WildcardMatches("a*c", "abcbc"));
  EXPECT_TRUE(WildcardMatches("*b*", "abc"));
  EXPECT_TRUE(WildcardMatches("a**", "a"));
  EXPECT_FALSE(WildcardMatches("abc", "abcd"));
  EXPECT_FALSE(WildcardMatches("abcd", "abc"));
  EXPECT_FALSE(WildcardMatches("a*c", "abcb"));
  EXPECT_FALSE(WildcardMatches("a.c", "abc"));  // a dot is a dot
  EXPECT_FALSE(WildcardMatches("", "a"));
}

// All strings of up to `length` letters of `alphabet`.
std::vector<std::string> Words(const std::string& alphabet, std::size_t length) {
  std::vector<std::string> words = {""};
  for (std::size_t begin = 0; length > 0; --length) {
    const std::size_t end = words.size();
    for (; begin < end; ++begin) {
      for (const char letter : alphabet) words.push_back(words[begin] + letter);
    }
  }
  return words;
}

TEST(WildcardTest, OverlapIsACommonMatch) {
  // In the shortest common match each character is a letter of one of the two patterns, so that
  // patterns of three have one of at most six.
  const std::vector<std::string> texts = Words("ab", 6);
  const std::vector<std::string> patterns = Words("ab*", 3);
  for (const std::string& a : patterns) {
    for (const std::string& b : patterns) {
      bool common = false;
      for (const std::string& text : texts) {
        common = common || (WildcardMatches(a, text) && WildcardMatches(b, text));
      }
      EXPECT_EQ(WildcardsOverlap(a, b), common) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace draftmark
