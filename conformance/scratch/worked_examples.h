// The worked examples of spec/dflash_scratch.md section 4 as checks with names: the scratch
// system's suite for `draftmark verify`.
//
//   for (const ScratchCheck& check : RunScratchChecks()) {
//     out << check.id << (check.passed ? " ok" : " FAILED: " + check.message) << "\n";
//   }
//
// Every number comes from the spec's text, none from this project's formulas. Ids follow
// design.md: scratch/<system>/<config>/<key=value,...>. Pure, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_SCRATCH_WORKED_EXAMPLES_H_
#define DRAFTMARK_CONFORMANCE_SCRATCH_WORKED_EXAMPLES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/scratch/dflash_layout.h"

namespace draftmark {

// One geometry, one request, and the bytes it must give.
struct WorkedExample {
  std::string id;
  DflashScratchRequest request;
  // Names of fields; also "device total", and for sums of fields "a + b".
  std::vector<std::pair<std::string, std::uint64_t>> bytes;
};

struct ScratchCheck {
  std::string id;  // of the example, then "/" and the field or the property
  bool passed = false;
  std::string message;  // empty if passed; else expected and found
};

std::vector<WorkedExample> WorkedExamples();

// What the examples judge; tests put mutants in.
using LayoutFunction = std::function<StatusOr<DflashScratchLayout>(const DflashScratchRequest&)>;

// All examples, number by number, then the properties: version 2 of one band against version 1,
// allocation against the layout, and the slot buffer that must not overflow.
std::vector<ScratchCheck> RunScratchChecks(
    const LayoutFunction& create = DflashScratchLayout::Create);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_SCRATCH_WORKED_EXAMPLES_H_
