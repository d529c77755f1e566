#include "conformance/golden/file_bytes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "src/base/memory_file_system.h"
#include "src/cases/generated_data.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

template <typename T>
void Append(std::vector<std::byte>& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

std::string GeneratorName() { return fmt::format("draftmark {}", kGeneratorVersion); }

Status TensorsInMemory::Add(const std::string& name, DType dtype, const Shape& shape,
                            std::span<const double> values) {
  Owned tensor{name, dtype, shape, {}};
  for (const double value : values) {
    switch (dtype) {
      case DType::kBF16:
        Append(tensor.bytes, BFloat16::FromDouble(value));
        break;
      case DType::kF32:
        Append(tensor.bytes, static_cast<float>(value));
        break;
      case DType::kU32:
        Append(tensor.bytes, static_cast<std::uint32_t>(value));
        break;
      case DType::kI32:
        Append(tensor.bytes, static_cast<std::int32_t>(value));
        break;
      case DType::kI64:
        Append(tensor.bytes, static_cast<std::int64_t>(value));
        break;
      default:
        return UnimplementedError(
            fmt::format("tensor {}: golden files hold no {}", name, DTypeName(dtype)));
    }
  }
  tensors_.push_back(std::move(tensor));
  return OkStatus();
}

StatusOr<std::vector<std::byte>> TensorsInMemory::Serialize() const {
  SafetensorsWriter writer;
  for (const Owned& tensor : tensors_) {
    DM_RETURN_IF_ERROR(writer.Add(tensor.name, {tensor.dtype, tensor.shape, tensor.bytes}));
  }
  writer.SetMetadata("generator", GeneratorName());
  MemoryFileSystem files;
  const std::string name = "golden.safetensors";
  DM_RETURN_IF_ERROR(writer.Write(name, files));
  DM_ASSIGN_OR_RETURN(const auto mapped, files.Map(name));
  return std::vector<std::byte>(mapped->bytes().begin(), mapped->bytes().end());
}

void DigestTensor(std::string_view name, const TensorView& view, Sha256& digest) {
  digest.Update(
      Bytes(fmt::format("{} {} {}\n", name, DTypeName(view.dtype), ShapeToString(view.shape))));
  digest.Update(view.bytes);
}

std::string DigestOfInputs(const DrafterCase& drafter_case) {
  Sha256 digest;
  const Checkpoint& checkpoint = *drafter_case.checkpoint();
  for (const std::string& name : checkpoint.names()) {
    DigestTensor(name, checkpoint.Get(name).value(), digest);
  }
  for (const CaseStep& step : drafter_case.steps()) {
    digest.Update(std::as_bytes(std::span(step.target_hidden)));
    digest.Update(std::as_bytes(std::span(step.block_tokens)));
    digest.Update(std::as_bytes(std::span(&step.start, 1)));
  }
  return digest.Finish();
}

std::string KeptContextRows(const DrafterCase& drafter_case) {
  std::string text;
  for (std::size_t s = 0; s < drafter_case.steps().size(); ++s) {
    const auto& rows = drafter_case.steps()[s].kept_context_rows;
    if (!rows) continue;
    const bool all = rows->size() == drafter_case.steps()[s].new_context_rows;
    text += fmt::format("{}step{}: {}", text.empty() ? "" : "; ", s,
                        all ? "all" : fmt::format("{}", fmt::join(*rows, " ")));
  }
  return text;
}

void SealEntry(GoldenFile& file) {
  file.entry.bytes = file.bytes.size();
  file.entry.sha256 = Sha256Hex(file.bytes);
}

}  // namespace draftmark
