// ParsePlainToml: TOML by toml++ 3.3 (Debian 12), which must not be given everything. Where it looks for the space between
// two things, most characters up to U+0499 and some above lead it to a place that its authors have told the compiler is
// never reached, and then anything may happen. TOML itself has none of these outside of comments and strings.
//
//   DM_ASSIGN_OR_RETURN(const toml::table root, ParsePlainToml(text, source));
//
// Pure, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_EXPECTATIONS_PLAIN_TOML_H_
#define DRAFTMARK_CONFORMANCE_EXPECTATIONS_PLAIN_TOML_H_

// Errors are values here (src/base/status.h). Header-only: no part of it is linked.
#define TOML_EXCEPTIONS 0
// Malformed files break some of its assertions, and then get an error all the same: every build is as the fuzzed one.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace draftmark {

// DATA_LOSS, with the line, for what is no TOML, and for a byte that is no ASCII, but in a comment, in a string of one line
// ("..." or '...') and in the mark that some editors put in front of a file.
StatusOr<toml::table> ParsePlainToml(std::string_view text, const std::string& source);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_EXPECTATIONS_PLAIN_TOML_H_
