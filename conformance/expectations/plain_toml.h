// CheckPlainToml: what toml++ 3.3 (Debian 12) must not be given. Where it looks for the space between two things, most
// characters up to U+0499 and some above lead it to a place that its authors have told the compiler is never reached, and
// then anything may happen. TOML itself has none of these outside of comments and strings.
//
//   DM_RETURN_IF_ERROR(CheckPlainToml(text, source));
//   const toml::parse_result parsed = toml::parse(text, source);
//
// Pure, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_EXPECTATIONS_PLAIN_TOML_H_
#define DRAFTMARK_CONFORMANCE_EXPECTATIONS_PLAIN_TOML_H_

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace draftmark {

// DATA_LOSS, with the line, for a byte that is no ASCII, but in a comment, in a string of one line ("..." or '...') and in
// the mark that some editors put in front of a file. In strings of several lines too: behind the end of a line toml++ looks
// for space.
Status CheckPlainToml(std::string_view text, const std::string& source);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_EXPECTATIONS_PLAIN_TOML_H_
