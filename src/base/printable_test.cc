#include "src/base/printable.h"

#include <string>

#include "gtest/gtest.h"
#include "src/base/status.h"

namespace draftmark {
namespace {

TEST(PrintableTest, OrdinaryTextStays) {
  const char* const street =
      "Stra\xc3\x9f"
      "e \xe2\x82\xac";
  for (const char* const text :
       {"", "layers.0.q_proj", street, "back\\slash 'quoted'", "\xff lone byte"}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_EQ(WithoutControls(text), text);
  }
}

TEST(PrintableTest, ControlCharactersAreShown) {
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\x1b[31m\x7f\t"), "\\x1b[31m\\x7f\\x09");
  EXPECT_EQ(Printable("one\nPASS two"), "one\\nPASS two");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(Printable("\xc2\xa0 \xc2"),
            "\xc2\xa0 \xc2");  // a space of Latin-1, and half a character
}

TEST(PrintableTest, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(Printable(std::string(200, 'n')), std::string(200, 'n'));
  EXPECT_EQ(Printable(std::string(201, 'n')), std::string(200, 'n') + "...");
  EXPECT_EQ(Printable(std::string(199, 'n') + "\xe2\x82\xac"), std::string(199, 'n') + "...");
}

TEST(PrintableTest, OnlyTheMiddleOfLongTextGoes) {
  EXPECT_EQ(WithoutMiddle(std::string(200, 'n')), std::string(200, 'n'));
  EXPECT_EQ(WithoutMiddle(std::string(150, 'a') + std::string(150, 'z')),
            std::string(100, 'a') + " ... " + std::string(100, 'z'));
  const std::string euro = "\xe2\x82\xac";  // at bytes 99 and 209
  const std::string text =
      std::string(99, 'a') + euro + std::string(107, 'm') + euro + std::string(98, 'z');
  EXPECT_EQ(WithoutMiddle(text), std::string(99, 'a') + " ... " + euro + std::string(98, 'z'));
}

TEST(PrintableTest, OneLineOfAnyLength) {
  EXPECT_EQ(OneLine("a\nb\x7f"), "a\\nb\\x7f");
  EXPECT_EQ(OneLine(std::string(500, 'n')), std::string(500, 'n'));
}

TEST(PrintableTest, MessagesKeepTheirLines) {
  EXPECT_EQ(WithoutControls("one\ntwo\x1b[0m"), "one\ntwo\\x1b[0m");
  EXPECT_EQ(WithoutControls(std::string(500, 'n') + '\r').size(), 504u);
}

// All that is reported is a Status first.
TEST(PrintableTest, EveryStatusIsPrintable) {
  EXPECT_EQ(DataLossError("f: '\x1b[2J'").message(), "f: '\\x1b[2J'");
  EXPECT_EQ(InternalError("x").Annotated("\x07").message(), "\\x07: x");
  for (const Status& status :
       {InvalidArgumentError("\x01"), NotFoundError("\x01"), DataLossError("\x01"),
        OutOfRangeError("\x01"), ResourceExhaustedError("\x01"), FailedPreconditionError("\x01"),
        UnimplementedError("\x01"), UnavailableError("\x01"), InternalError("\x01")}) {
    EXPECT_EQ(status.message(), "\\x01");
  }
}

}  // namespace
}  // namespace draftmark
