// DrafterCase: one oracle case of a drafter: weights, a sequence of calls, and what every stage
// should be.
//
// A case is a folder with config.json, model.safetensors and golden.safetensors in the layout of
// cases/README.md: float64 stages as `f64.stepS.STAGE`, inputs as `stepS.inputs.NAME`, optionally
// PyTorch BF16 stages as `torch_bf16.stepS.STAGE`. Where config.json names a generator
// (generated_data.h), weights and inputs are made from its seed and the folder has no files for
// them. Stages are F64, or F32 rounded from it. A step's `kept_context_rows` lists the new context
// rows that stages with context rows hold, in a long case; their block rows are always there.
//
// A generated case may run among others and without anybody watching, as a sequence of an engine does:
//   "band": 2         the case's sequence is the third of its session
//   "neighbours": [[{"new_context_rows": 9, "start": 9, "anchor": 4}, {... "rests": true}], ...]
//                     the steps of the other sequences, which nothing is expected of; in a step
//                     that rests, or that it does not have, a neighbour proposes nothing
//   "replay": true    a second session goes through the same steps without a sink, and must choose
//                     the same tokens
//   "end_to_end": false
//                     the drafter is so small or ill-conditioned that the distance between a sound
//                     BF16 run and float64 has no bound: only what follows from the run's own
//                     stages is judged in BF16
// and in a step: "reset": true, the sequence leaves and another one joins in its place; "width": 5,
// the block has fewer rows than block_size, the same for all sequences.
//
// It is loaded once, checked as a whole, and never altered; it may be read by several threads.
#ifndef DRAFTMARK_SRC_CASES_DRAFTER_CASE_H_
#define DRAFTMARK_SRC_CASES_DRAFTER_CASE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/cases/case_id.h"
#include "src/cases/generated_data.h"
#include "src/config/drafter_config.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/safetensors.h"

namespace draftmark {

// One call: drop rows from the front of the context, append new ones, run one block.
struct CaseStep {
  std::uint64_t drop_front_rows = 0;
  std::uint64_t new_context_rows = 0;
  std::int64_t start = 0;  // absolute position of the anchor
  std::vector<BFloat16>
      target_hidden;  // [new_context_rows, L_t * h_t]; positions start - n .. start - 1
  std::vector<std::uint32_t> block_tokens;  // anchor, then mask ids
  // New context rows that the stages hold; absent: all.
  std::optional<std::vector<std::uint64_t>> kept_context_rows;
  // All rows of the context are dropped, by DraftSession::Reset; drop_front_rows counts them.
  bool reset = false;
  bool rests = false;  // a neighbour's: it proposes nothing
};

struct ExpectedStage {
  Shape shape;
  std::vector<double> values;
  DType dtype = DType::kF64;  // as stored: F64 or, rounded, F32
  // Which rows (first dimension) of the whole stage these are; empty: all of them.
  std::vector<std::uint64_t> rows = {};
};

// The chosen rows of a whole stage; `values` itself if `rows` is empty. Every row must be there.
std::vector<double> SelectRows(const Shape& shape, std::vector<double> values,
                               const std::vector<std::uint64_t>& rows);

class DrafterCase {
 public:
  // Errors: NOT_FOUND, DATA_LOSS or INVALID_ARGUMENT with the file, key or tensor, expected and
  // found; RESOURCE_EXHAUSTED for a generated case with too many elements, before any is made.
  static StatusOr<DrafterCase> Load(const std::string& directory,
                                    FileSystem& file_system = RealFileSystem());
  // A generated case before anybody has computed its stages: Expected() gives nothing. `json` is
  // the content of its config.json, `directory` where it would lie.
  static StatusOr<DrafterCase> WithoutStages(const Json& json, const std::string& directory);
  // The same without its weights, which the caller makes elsewhere: checkpoint() is null.
  static StatusOr<DrafterCase> WithoutWeights(const Json& json, const std::string& directory);

  const std::string& directory() const { return directory_; }
  const CaseId& id() const { return id_; }
  const DrafterConfig& config() const { return config_; }
  const std::vector<CaseStep>& steps() const { return steps_; }
  // The other sequences of the session, in the order of their bands, which leave out band().
  const std::vector<std::vector<CaseStep>>& neighbours() const { return neighbours_; }
  std::size_t band() const { return band_; }
  bool replay() const { return replay_; }
  bool end_to_end() const { return end_to_end_; }
  const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }
  const std::optional<DataGenerator>& generator() const { return generator_; }
  // The most context rows that one sequence sees at once.
  std::uint64_t largest_context() const;
  // Rows of the first step's block.
  std::uint64_t gamma() const { return steps_.front().block_tokens.size(); }

  // The float64 stage, or nothing if the case does not hold it (long cases leave some out).
  StatusOr<std::optional<ExpectedStage>> Expected(std::size_t step, const std::string& stage) const;
  // Rows of a stage that the case holds; empty if all.
  std::vector<std::uint64_t> RowsOf(std::size_t step, const std::string& stage) const;
  // The recorded relative L2 error of a PyTorch BF16 run against the float64 stage.
  std::optional<double> TorchError(std::size_t step, const std::string& stage) const;
  // Largest absolute difference between PyTorch's BF16 logits and the float64 logits of a step:
  // from the tensors where the case still holds them, else from the key
  // `torch_bf16_max_abs_logit_error` of a trimmed case.
  StatusOr<std::optional<double>> TorchMaxLogitError(std::size_t step) const;

 private:
  DrafterCase(DrafterConfig config, SafetensorsFile golden)
      : config_(std::move(config)), golden_(std::move(golden)) {}
  // `with_weights`: LoadCheckpoint comes next.
  static StatusOr<DrafterCase> Make(const Json& json, const std::string& directory,
                                    SafetensorsFile golden, bool with_weights);
  std::string CheckpointPath() const { return JoinPath(directory_, "model.safetensors"); }
  Status LoadCheckpoint(FileSystem& file_system);
  // That a generated case asks for no more than can be held, before any of it is made.
  Status CheckGeneratedSteps(const JsonObject& root) const;
  Status LoadSteps(const JsonObject& root);
  Status LoadNeighbours(const JsonObject& root);
  using OnNeighbour = std::function<Status(std::size_t, const std::vector<JsonObject>& steps)>;
  Status ForEachNeighbour(const JsonObject& root, const OnNeighbour& visit) const;
  // `neighbour`: which one, absent for the case's own sequence.
  StatusOr<std::vector<CaseStep>> LoadSequence(const std::vector<JsonObject>& steps,
                                               std::optional<std::size_t> neighbour) const;
  StatusOr<CaseStep> LoadStep(const JsonObject& object, std::size_t index,
                              std::optional<std::size_t> neighbour) const;
  Status LoadInputs(const JsonObject& object, std::size_t index,
                    std::optional<std::size_t> neighbour, std::uint64_t anchor,
                    CaseStep& step) const;
  Status CheckGolden() const;
  Status CheckGoldenStage(const std::string& name, std::size_t step,
                          const std::string& stage) const;

  std::string directory_;
  CaseId id_;
  DrafterConfig config_;
  SafetensorsFile golden_;
  std::optional<DataGenerator> generator_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::vector<CaseStep> steps_;
  std::vector<std::vector<CaseStep>> neighbours_;
  std::size_t band_ = 0;
  bool replay_ = false;
  bool end_to_end_ = true;
  std::map<std::string, double> torch_errors_;
  std::map<std::string, double> torch_logit_errors_;
};

// Folders below `directory` (itself included) that look like a case: they hold a
// golden.safetensors. Sorted.
std::vector<std::string> FindDrafterCases(const std::string& directory,
                                          FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CASES_DRAFTER_CASE_H_
