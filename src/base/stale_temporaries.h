// Files that a killed writer left: the temporaries of FileSystem::CreateAtomic.
//
//   const std::size_t removed = RemoveStaleTemporaries("www");   // before writing there again
//   RemoveStaleTemporariesBelow("golden");                       // and in all folders of it
//
// Removes only regular files with the full form of such a name (".draftmark-PID-N-HEX.tmp") whose
// process is not alive, and which nobody has written to for kStaleSeconds: where a folder is shared,
// the writer may be of another machine, whose ids are unknown here, and between its last write and
// the rename lie milliseconds. What cannot be removed stays, without an error: it harms nobody.
// Thread-safe.
#ifndef DRAFTMARK_SRC_BASE_STALE_TEMPORARIES_H_
#define DRAFTMARK_SRC_BASE_STALE_TEMPORARIES_H_

#include <cstddef>
#include <string>

namespace draftmark {

inline constexpr int kStaleSeconds = 60;

// How many were removed. A folder that is not there has none.
std::size_t RemoveStaleTemporaries(const std::string& folder);
// The same in the folder and in all below it; symbolic links are not followed.
std::size_t RemoveStaleTemporariesBelow(const std::string& folder);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_STALE_TEMPORARIES_H_
