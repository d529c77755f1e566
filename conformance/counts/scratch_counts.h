// What the scratch systems take for every known config: bytes of each field, and what a ledger saw
// when all of it was allocated. Needs no GPU and no memory.
//
//   DM_ASSIGN_OR_RETURN(const CountedCases found, CountScratch("golden/configs"));
//   found.at({"", "scratch/dflash_v2/qwen3-8b-dflash-b16/ctx_window=4096,nb=8"}).at("logits");
//
// Cases, each with one shape that engines use: scratch/buffer_sizes/CONFIG of every target's config
// in the folder, scratch/dflash_v1/DRAFTER and scratch/dflash_v2/DRAFTER of every drafter's config
// and every entry of the catalogue that can be read. Counts: each field that is not of 0 bytes by
// its name, and ledger.peak_bytes (the most live bytes, pinned host memory included),
// ledger.device_bytes (of these on the device) and ledger.allocations. Thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_COUNTS_SCRATCH_COUNTS_H_
#define DRAFTMARK_CONFORMANCE_COUNTS_SCRATCH_COUNTS_H_

#include <string>

#include "src/base/status.h"
#include "src/perf/recorded_counts.h"

namespace draftmark {

// Errors of reading the folder and its files, and of allocation, each naming file or case. A
// catalogue's entry that describes no drafter of ours is left out, as `draftmark draft` refuses it.
StatusOr<CountedCases> CountScratch(const std::string& configs);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_COUNTS_SCRATCH_COUNTS_H_
