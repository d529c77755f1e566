// Every mutant: what is made wrong, where, and the check that is meant to find it.
#ifndef DRAFTMARK_CONFORMANCE_MUTANTS_MUTANT_TABLE_H_
#define DRAFTMARK_CONFORMANCE_MUTANTS_MUTANT_TABLE_H_

#include <span>
#include <string_view>

#include "src/faults/fault.h"

namespace draftmark {

// A check (check.h) and a part of its finding, mostly the first stage that is off. A mutant is
// killed by the check meant for it if that check fails and says so.
struct Meant {
  std::string_view check = {};  // empty: the backend has no such mutant
  std::string_view where = {};
};

struct MutantInfo {
  Fault fault = Fault::kNone;
  std::string_view id;    // "M10a": mistake 10 of spec/drafter.md section 13; "K5": of a kernel
  std::string_view what;  // as a sentence that begins small
  Meant reference;
  Meant cuda;
};

// One row for each fault, in the order of the enumeration.
std::span<const MutantInfo> MutantTable();

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_MUTANTS_MUTANT_TABLE_H_
