// Printable: text of unknown origin, fit for one line of a message.
//
//   fmt::format("{}: tensor '{}': truncated", path, Printable(name))
//
// A name out of a file may hold a line end, which makes two messages of one, or what a terminal takes for a command.
// Control characters, those of Latin-1 in UTF-8 included, become \n, \x1b or \u009b, and what is longer than
// kLongestPrintable bytes is cut. Other text, UTF-8 or not, stays as it is. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_BASE_PRINTABLE_H_
#define DRAFTMARK_SRC_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace draftmark {

inline constexpr std::size_t kLongestPrintable =
    200;  // bytes; names of tensors and keys are shorter

std::string Printable(std::string_view text);

// The same of any length.
std::string OneLine(std::string_view text);

// Text that is longer than that without its middle: both ends of it tell what it is.
std::string WithoutMiddle(std::string_view text);

// As Printable, for a whole message, whose line ends are its own: they stay, and so does its length. Every Status is made
// so.
std::string WithoutControls(std::string message);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_PRINTABLE_H_
