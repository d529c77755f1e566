// Writes a generated case out as files that other programs read. One call on a folder at a time.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_EXPORT_CASE_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_EXPORT_CASE_H_

#include <string>

#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

// `source` is a folder of golden/drafts. `target` gets config.json without its generator,
// model.safetensors with the weights under public names, and golden.safetensors with inputs and
// stages: a case folder as any other. Refuses a target that holds one of these files already
// (INVALID_ARGUMENT); writes nothing if anything fails before the first file is complete.
Status ExportCase(const std::string& source, const std::string& target,
                  FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_EXPORT_CASE_H_
