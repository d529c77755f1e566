// Fault switches: places where the reference can be made wrong on purpose, to see whether the
// harness names the fault (spec/drafter.md section 13).
//
//   const bool seen = DM_FAULT(kWindowOffByOne) ? distance <= window : distance < window;
//
// In every product DM_FAULT(...) is the constant false, and nothing of it is compiled. Where
// DRAFTMARK_FAULTS is defined it asks a switch of the process: only the targets of
// conformance/mutants are compiled so, from the same sources, and they are testonly, so that Bazel
// refuses a product that depends on them. One program must not link both builds of a source.
#ifndef DRAFTMARK_SRC_FAULTS_FAULT_H_
#define DRAFTMARK_SRC_FAULTS_FAULT_H_

namespace draftmark {

// A name that is not here does not compile in either build. conformance/mutants/fault_switch.cc has
// a row for each.
enum class Fault {
  kNone,
  kWindowOffByOne,  // M14
  kValuesNormed,    // M23
  kGqaModulo,       // M24
};

#ifdef DRAFTMARK_FAULTS
bool FaultIsOn(Fault fault);  // defined in conformance/mutants; thread-safe
#define DM_FAULT(name) (::draftmark::FaultIsOn(::draftmark::Fault::name))
#else
consteval bool NoFault(Fault) { return false; }
#define DM_FAULT(name) (::draftmark::NoFault(::draftmark::Fault::name))
#endif

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_FAULTS_FAULT_H_
