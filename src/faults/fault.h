// Fault switches: places where the project can be made wrong on purpose, to see whether the harness
// names the fault (spec/drafter.md section 13, and mistakes of kernels).
//
//   const bool seen = DM_FAULT(kWindowOffByOne) ? distance <= window : distance < window;
//
// In every product DM_FAULT(...) is the constant false, and nothing of it is compiled. Where
// DRAFTMARK_FAULTS is defined it asks a switch of the process. Only what a faulty_binary
// (faulty.bzl) depends on is built so, from the same sources and once more; such a binary is
// testonly, so that Bazel refuses a product that depends on it, and no flag of a command line sets
// the switch. For device code: device_fault.cuh.
#ifndef DRAFTMARK_SRC_FAULTS_FAULT_H_
#define DRAFTMARK_SRC_FAULTS_FAULT_H_

#include <cstdint>

namespace draftmark {

// A name that is not here does not compile in either build. conformance/mutants/mutant_table.cc has
// a row for each, which says what it is and which check is meant to find it.
enum class Fault {
  kNone,
  // spec/drafter.md section 13, in its order.
  kBlockPositionFromSlot,   // M1
  kRejectedRowsAppended,    // M2
  kTapLayerOffByOne,        // M3
  kRowZeroUsed,             // M4a
  kRowZeroDropped,          // M4b
  kYarnThoughNull,          // M5a
  kYarnAmplitudeDropped,    // M5b
  kHeadDimConstant,         // M6
  kKeyLoopBoundedByTile,    // M7
  kStaleArguments,          // M8
  kFirstBandsTable,         // M9a
  kFirstBandsArguments,     // M9b
  kOneBandOfLogits,         // M9c
  kConvCrossesBands,        // M10a
  kConvNotReset,            // M10b
  kConvWrongRow,            // M10c
  kSlotsWrittenAs32,        // M11
  kSlotBufferTooSmall,      // M12
  kNegativeSlotWritten,     // M13
  kWindowIgnored,           // M14a
  kWindowOneSided,          // M14b
  kWindowOffByOne,          // M14c
  kSelectorArgMax,          // M15a
  kSelectorViterbi,         // M15b
  kConvSidesSwapped,        // M15c
  kMarkovPrevUnbiased,      // M16
  kConfidenceStale,         // M17
  kLogitsLeftOverwritten,   // M18
  kPaddedRowsPropagate,     // M19
  kWatermarkNotReset,       // M20
  kReplayAfterWidthChange,  // M21
  kNormPlusOne,             // M22a
  kEpsilonConstant,         // M22b
  kSwigluClamped,           // M22c
  kValuesNormed,            // M23a
  kValuesRotated,           // M23b
  kGqaModulo,               // M24
  kContextInputNorm,        // M25a
  kContextConvolved,        // M25b
  // Of kernels.
  kMissingTail,             // K1
  kMissingBarrier,          // K2
  kWrongScale,              // K3
  kStaleOutput,             // K4
  kWritePastEnd,            // K5
  kUninitialisedWorkspace,  // K6
  kDroppedRow,              // K7
  kWrongTieRule,            // K8
  kNondeterministicSum,     // K9
  kRedZoneWrite,            // K10
  kLeakedAllocation,        // K11
  kSteadyStateSync,         // K12
  kSteadyStateAllocation,   // K13
  kLast = kSteadyStateAllocation,
};

#ifdef DRAFTMARK_FAULTS

// All thread-safe.
bool FaultIsOn(Fault fault);
// One fault is on in the whole process, since the sources that ask are the product's own and carry
// no context for it. kNone switches all off.
void SetFault(Fault fault);
Fault FaultThatIsOn();
// What faults need that remember: the value that `owner` was first asked with, and a number that
// grows with every call.
std::uint64_t FaultFirst(const void* owner, std::uint64_t now);
std::uint64_t FaultTick();

#define DM_FAULT(name) (::draftmark::FaultIsOn(::draftmark::Fault::name))

#else

consteval bool NoFault(Fault) { return false; }
constexpr std::uint64_t FaultFirst(const void*, std::uint64_t now) { return now; }
constexpr std::uint64_t FaultTick() { return 0; }

#define DM_FAULT(name) (::draftmark::NoFault(::draftmark::Fault::name))

#endif

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_FAULTS_FAULT_H_
