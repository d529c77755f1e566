// For tests of programs that clean up after killed ones.
//
//   const std::string path = LeaveStaleTemporary(folder.path());
//
// Writes what RemoveStaleTemporaries takes for stale: the half-written temporary of a process that
// is not alive, an hour old. Expects that it can be written.
#ifndef DRAFTMARK_SRC_BASE_STALE_TEMPORARIES_TESTING_H_
#define DRAFTMARK_SRC_BASE_STALE_TEMPORARIES_TESTING_H_

#include <sys/types.h>

#include <string>

namespace draftmark {

// The id of a process that was alive, and is not.
pid_t DeadProcess();

std::string LeaveStaleTemporary(const std::string& folder);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_STALE_TEMPORARIES_TESTING_H_
