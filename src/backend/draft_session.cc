#include "src/backend/draft_session.h"

namespace draftmark {

std::string_view PrecisionName(Precision precision) {
  return precision == Precision::kExact ? "exact" : "bf16";
}

}  // namespace draftmark
