// For the files of fake_runtime.h alone.
#ifndef DRAFTMARK_SRC_CUDA_FAKE_CALLS_H_
#define DRAFTMARK_SRC_CUDA_FAKE_CALLS_H_

namespace draftmark {

// Every call that may fail begins with it: true for the one that FailFakeCall names, whose error then stands as CUDA's last.
bool FakeCallFails(const char* call);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_FAKE_CALLS_H_
