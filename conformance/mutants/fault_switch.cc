#include "conformance/mutants/fault_switch.h"

#include <atomic>

namespace draftmark {
namespace {

std::atomic<Fault> fault_that_is_on = Fault::kNone;

constexpr FaultInfo kTable[] = {
    {Fault::kWindowOffByOne, "M14", "the window of a sliding layer reaches one key too far",
     "dflash_sliding_noncausal", "step0.layers.0.attn_out"},
    {Fault::kValuesNormed, "M23", "values of block rows are normed as keys are", "dflash_softcap",
     "step0.layers.0.v_new"},
    {Fault::kGqaModulo, "M24", "fault: query head j reads KV head j mod n_kv", "dflash_softcap",
     "step0.layers.0.attn_out"},
};

}  // namespace

bool FaultIsOn(Fault fault) { return fault_that_is_on.load(std::memory_order_relaxed) == fault; }

std::span<const FaultInfo> FaultTable() { return kTable; }

ScopedFault::ScopedFault(Fault fault) { fault_that_is_on = fault; }
ScopedFault::~ScopedFault() { fault_that_is_on = Fault::kNone; }

}  // namespace draftmark
