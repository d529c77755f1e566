// For tests: writes stages of the plain forward as a dump, floats as BF16 or F32 and ids as U32.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_WRITE_DUMP_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_WRITE_DUMP_H_

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "conformance/diagnosis/inputs.h"
#include "conformance/plain/forward.h"
#include "src/backend/stages.h"
#include "src/base/status.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/safetensors.h"

namespace draftmark {

// A tensor added again replaces the earlier one.
class DumpWriter {
 public:
  DumpWriter() = default;
  // Views point into the bytes, which moves keep in place and copies would not.
  DumpWriter(DumpWriter&&) = default;
  DumpWriter& operator=(DumpWriter&&) = default;

  void Add(const std::string& name, DType dtype, Shape shape, const std::vector<double>& values) {
    std::vector<std::byte>& bytes = bytes_[name];
    bytes.clear();
    const auto append = [&](auto value) {
      const std::size_t at = bytes.size();
      bytes.resize(at + sizeof(value));
      std::memcpy(&bytes[at], &value, sizeof(value));
    };
    for (const double value : values) {
      if (dtype == DType::kBF16) append(BFloat16::FromDouble(value).bits);
      if (dtype == DType::kF32) append(static_cast<float>(value));
      if (dtype == DType::kU32) append(static_cast<std::uint32_t>(value));
      if (dtype == DType::kI64) append(static_cast<std::int64_t>(value));
    }
    views_[name] = {dtype, std::move(shape), bytes};
  }
  void AddRun(const DrafterConfig& config, const plain::Bands& bands,
              const std::map<plain::StageId, std::vector<double>>& values) {
    for (const auto& [id, stage] : values) {
      const CaseStep& step = bands[id.band][id.step];
      Add(JoinTensorName(id.step, id.band, id.stage),
          IsIdStage(id.stage)            ? DType::kU32
          : plain::IsBf16Stage(id.stage) ? DType::kBF16
                                         : DType::kF32,
          StageShape(config, id.stage, step.new_context_rows, step.block_tokens.size()), stage);
    }
  }
  void Remove(const std::string& name) { views_.erase(name); }
  Status Write(const std::string& path) const {
    SafetensorsWriter writer;
    for (const auto& [name, view] : views_) DM_RETURN_IF_ERROR(writer.Add(name, view));
    return writer.Write(path);
  }

 private:
  std::map<std::string, std::vector<std::byte>> bytes_;
  std::map<std::string, TensorView> views_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_WRITE_DUMP_H_
