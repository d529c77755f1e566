#include "tools/commands/diff/source_options.h"

namespace draftmark {

void AddSourceOptions(CLI::App& command, DiagnosisPaths& paths) {
  command.add_option("--config", paths.config,
                     "The drafter's config; default: config.json in the folder --weights");
  command.add_option("--entry", paths.entry, "Entry of a collection of configs");
  command.add_option("--weights", paths.weights,
                     "The drafter's checkpoint in Hugging Face layout: file, index or folder");
  command.add_option(
      "--target-weights", paths.target_weights,
      "The target's checkpoint, for the embedding and the LM head that a drafter shares with it");
  command.add_option(
      "--inputs", paths.inputs,
      "stepS.inputs.{target_hidden, block_tokens, start} as safetensors; a case brings its own");
}

}  // namespace draftmark
