#include "conformance/golden/export_case.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "src/base/json.h"
#include "src/base/memory_file_system.h"
#include "src/cases/drafter_case.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

Status WriteWeights(const DrafterCase& drafter_case, const std::string& path,
                    FileSystem& file_system) {
  SafetensorsWriter writer;
  const Checkpoint& checkpoint = *drafter_case.checkpoint();
  for (const std::string& name : checkpoint.names()) {
    DM_ASSIGN_OR_RETURN(const TensorView view, checkpoint.Get(name));
    DM_RETURN_IF_ERROR(writer.Add(name, view));
  }
  return writer.Write(path, file_system);
}

// The stages as they are, and the inputs that the case made for itself.
Status WriteStages(const DrafterCase& drafter_case, const SafetensorsFile& stages,
                   const std::string& path, FileSystem& file_system) {
  SafetensorsWriter writer;
  for (const std::string& name : stages.names()) {
    DM_ASSIGN_OR_RETURN(const TensorView view, stages.Get(name));
    DM_RETURN_IF_ERROR(writer.Add(name, view));
  }
  const std::vector<CaseStep>& steps = drafter_case.steps();
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const CaseStep& step = steps[s];
    const std::string inputs = fmt::format("step{}.inputs.", s);
    DM_RETURN_IF_ERROR(writer.Add(inputs + "target_hidden",
                                  {DType::kBF16,
                                   {step.new_context_rows, drafter_case.config().tap_width()},
                                   std::as_bytes(std::span(step.target_hidden))}));
    DM_RETURN_IF_ERROR(writer.Add(
        inputs + "block_tokens",
        {DType::kU32, {step.block_tokens.size()}, std::as_bytes(std::span(step.block_tokens))}));
    DM_RETURN_IF_ERROR(
        writer.Add(inputs + "start", {DType::kI64, {1}, std::as_bytes(std::span(&step.start, 1))}));
  }
  return writer.Write(path, file_system);
}

}  // namespace

Status ExportCase(const std::string& source, const std::string& target, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(source, file_system));
  if (!drafter_case.generator()) {
    return InvalidArgumentError(
        fmt::format("{}: not a generated case: its files can be used as they are", source));
  }
  const std::string config_path = JoinPath(source, "config.json");
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(config_path, file_system));
  DM_ASSIGN_OR_RETURN(const Json parsed, ParseJson(text, config_path));
  OrderedJson config(parsed);
  config.erase("generator");
  DM_ASSIGN_OR_RETURN(const SafetensorsFile stages,
                      SafetensorsFile::Open(JoinPath(source, "golden.safetensors"), file_system));
  // All three in memory first, then to temporaries, then under their names.
  MemoryFileSystem made;
  DM_RETURN_IF_ERROR(WriteWeights(drafter_case, "model.safetensors", made));
  DM_RETURN_IF_ERROR(WriteStages(drafter_case, stages, "golden.safetensors", made));
  DM_RETURN_IF_ERROR(WriteTextFile("config.json", config.dump(1) + "\n", made));
  DM_RETURN_IF_ERROR(file_system.CreateDirectories(target));
  std::vector<std::unique_ptr<AtomicFile>> pending;
  for (const char* const name : {"model.safetensors", "golden.safetensors", "config.json"}) {
    const std::string path = JoinPath(target, name);
    if (file_system.IsFile(path) || file_system.IsDirectory(path)) {
      return InvalidArgumentError(
          fmt::format("{}: there already; export into an empty folder", path));
    }
    DM_ASSIGN_OR_RETURN(const auto bytes, made.Map(name));
    DM_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, file_system.CreateAtomic(path));
    DM_RETURN_IF_ERROR(file->Append(bytes->bytes()));
    pending.push_back(std::move(file));
  }
  for (const std::unique_ptr<AtomicFile>& file : pending) DM_RETURN_IF_ERROR(file->Commit());
  return OkStatus();
}

}  // namespace draftmark
