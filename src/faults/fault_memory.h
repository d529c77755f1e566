// What faults remember (FaultFirst, fault.h); faulty builds only.
#ifndef DRAFTMARK_SRC_FAULTS_FAULT_MEMORY_H_
#define DRAFTMARK_SRC_FAULTS_FAULT_MEMORY_H_

namespace draftmark {

// Addresses come again: call it between checks, so that none meets what another one's sessions left.
// Thread-safe.
void ForgetFaultFirsts();

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_FAULTS_FAULT_MEMORY_H_
