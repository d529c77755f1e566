// The switch behind DM_FAULT in the mutant build, and what each fault is.
//
//   const ScopedFault fault(Fault::kGqaModulo);  // on until the end of the block
#ifndef DRAFTMARK_CONFORMANCE_MUTANTS_FAULT_SWITCH_H_
#define DRAFTMARK_CONFORMANCE_MUTANTS_FAULT_SWITCH_H_

#include <span>
#include <string_view>

#include "src/faults/fault.h"

namespace draftmark {

struct FaultInfo {
  Fault fault;
  std::string_view id;  // in spec/drafter.md section 13
  std::string_view what;
  std::string_view golden_case;  // that shows it
  std::string_view first_stage;  // which is off there, in both precisions
};

// One row for each fault.
std::span<const FaultInfo> FaultTable();

// One fault is on in the whole process, since the sources that ask are the product's own and carry
// no context for it. Not to be nested: the end of a block switches all faults off.
class ScopedFault {
 public:
  explicit ScopedFault(Fault fault);
  ~ScopedFault();
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_MUTANTS_FAULT_SWITCH_H_
