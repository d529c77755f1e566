// For tests: a generated drafter's weights as the files of a published one, whose embedding and LM
// head lie in its target's checkpoint.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DRAFT_GENERATED_CHECKPOINT_H_
#define DRAFTMARK_TOOLS_COMMANDS_DRAFT_GENERATED_CHECKPOINT_H_

#include <cstdint>
#include <string>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/cases/generated_data.h"
#include "src/config/config_file.h"
#include "src/config/drafter_entry.h"
#include "src/tensor/safetensors.h"

namespace draftmark {

struct CheckpointFiles {
  std::string drafter, target;
};

inline CheckpointFiles WriteGeneratedCheckpoint(const TestFolder& folder, const std::string& config,
                                                const std::string& entry, std::uint64_t seed) {
  const Json file = ReadConfigFile(config).value();
  const DrafterEntry found = FindRunnableEntry(file, config, entry).value();
  const Checkpoint all = GenerateCheckpoint(found.config, {.seed = seed}, "generated").value();
  SafetensorsWriter drafter, target;
  for (const std::string& name : all.names()) {
    const bool shared = name == "embed_tokens.weight" || name == "lm_head.weight";
    const std::string there = name == "lm_head.weight" ? name : "model." + name;
    EXPECT_THAT(shared ? target.Add(there, all.Get(name).value())
                       : drafter.Add(name, all.Get(name).value()),
                IsOk());
  }
  CheckpointFiles files = {folder.Path("drafter.safetensors"), folder.Path("target.safetensors")};
  EXPECT_THAT(drafter.Write(files.drafter), IsOk());
  EXPECT_THAT(target.Write(files.target), IsOk());
  return files;
}

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DRAFT_GENERATED_CHECKPOINT_H_
