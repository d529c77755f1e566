// A case folder made on the spot: what `draftmark verify FOLDER` runs, from a config.json alone.
//
//   MemoryFileSystem files;
//   DM_ASSIGN_OR_RETURN(const DrafterCase made, BuildCase(config, "case", files));
//   DM_RETURN_IF_ERROR(CopyCase(files, "case", RealFileSystem(), "out/case"));
//
// `config` is that of a generated case (src/cases/generated_data.h): geometry, generator, steps.
// Its float64 stages come from the plain forward (conformance/plain), which is written apart from
// the reference: whoever runs the case is compared with direct formulas. All stages are held, in
// F64.
//
// Errors: INVALID_ARGUMENT for a config or steps that do not go together, INTERNAL for a stage that
// is not finite. Functions are thread-safe for distinct file systems.
#ifndef DRAFTMARK_CONFORMANCE_RANDOM_BUILD_CASE_H_
#define DRAFTMARK_CONFORMANCE_RANDOM_BUILD_CASE_H_

#include <string>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"

namespace draftmark {

// Writes config.json and golden.safetensors into `directory` of `files`, and loads the case.
StatusOr<DrafterCase> BuildCase(const OrderedJson& config, const std::string& directory,
                                FileSystem& files);

// Copies both files; each appears complete or not at all, config.json last.
Status CopyCase(FileSystem& from, const std::string& source, FileSystem& to,
                const std::string& target);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_RANDOM_BUILD_CASE_H_
