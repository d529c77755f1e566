// What a diagnosed run was given: the calls of each band, from a case or from an inputs file.
//
// An inputs file is a safetensors file in the manner of cases/README.md:
//   stepS.inputs.target_hidden  [n, L_t * h_t], BF16, F16, F32 or F64, every value exact in BF16
//   stepS.inputs.block_tokens   [gamma], any integer dtype: anchor, then mask ids
//   stepS.inputs.start          one integer: absolute position of the anchor
//   stepS.inputs.drop_front_rows  one integer, optional (0)
// Further bands: stepS.bandB.inputs.NAME (band 0 may be written so too). Another NAME is an error.
// Other tensors are ignored, so that the golden.safetensors of a case is an inputs file. Steps and
// bands count from 0 without gaps, each input is there once; bands may differ in rows and in their
// number of steps. Pure functions, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_INPUTS_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_INPUTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/plain/forward.h"
#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"

namespace draftmark {

// "step2.band1.layers.0.fc" -> {2, 1, "layers.0.fc"}; without "stepS." step 0, without "bandB."
// band 0. Nothing if a number does not fit.
struct TensorName {
  std::size_t step = 0;
  std::size_t band = 0;
  std::string rest;
};
std::optional<TensorName> SplitTensorName(std::string_view name);
// "step2.fc" for band 0, "step2.band1.fc" for others.
std::string JoinTensorName(std::size_t step, std::size_t band, std::string_view rest);

// Errors: NOT_FOUND, DATA_LOSS or INVALID_ARGUMENT with file, tensor, expected and found.
StatusOr<plain::Bands> LoadInputs(const std::string& path, const DrafterConfig& config,
                                  FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_INPUTS_H_
