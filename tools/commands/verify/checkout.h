// Where the data of this checkout lies: golden cases and expectations.
#ifndef DRAFTMARK_TOOLS_COMMANDS_VERIFY_CHECKOUT_H_
#define DRAFTMARK_TOOLS_COMMANDS_VERIFY_CHECKOUT_H_

#include <optional>
#include <string>

#include "src/base/status.h"

namespace draftmark {

// Both look where src/base/find_in_checkout.h says.

// A folder `golden` with a `drafter` folder in it. NOT_FOUND says so and names the option that
// helps.
StatusOr<std::string> FindGoldenDirectory();

// The file conformance/expectations/ARCH.toml, if there is one.
std::optional<std::string> FindExpectationsFile(const std::string& arch);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_VERIFY_CHECKOUT_H_
