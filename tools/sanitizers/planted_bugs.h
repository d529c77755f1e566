// Bugs on purpose, each of which one sanitizer must report. The data is volatile so that the
// optimiser keeps the bug: a plain heap overflow was seen to disappear at -O1.
#ifndef DRAFTMARK_TOOLS_SANITIZERS_PLANTED_BUGS_H_
#define DRAFTMARK_TOOLS_SANITIZERS_PLANTED_BUGS_H_

namespace draftmark {

// Reads one byte behind a heap block.
int ReadBehindHeapBlock();
// Drops the only pointer to a heap block.
void LeakHeapBlock();
// Adds 1 to the largest int.
int OverflowSignedInt();
// Two threads write one variable without synchronisation.
int RaceOnVariable();

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_SANITIZERS_PLANTED_BUGS_H_
