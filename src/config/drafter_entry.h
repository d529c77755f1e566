// One entry of a catalogue of drafters (golden/configs/drafter_configs.json), and whether it may be
// run.
//
//   DM_ASSIGN_OR_RETURN(const Json json, ReadConfigFile(path));
//   DM_ASSIGN_OR_RETURN(const DrafterEntry entry, FindRunnableEntry(json, path, "recipe/name"));
//   entry.config, *entry.json
//
// A catalogue also lists drafters of which not everything is known, so that loaders can be tested;
// a result of one of those says nothing about a checkpoint, so who runs a drafter asks here. Pure
// functions, thread-safe.
#ifndef DRAFTMARK_SRC_CONFIG_DRAFTER_ENTRY_H_
#define DRAFTMARK_SRC_CONFIG_DRAFTER_ENTRY_H_

#include <string>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"

namespace draftmark {

struct DrafterEntry {
  const Json* json = nullptr;  // a part of the parsed file
  DrafterConfig config;
};

// The entry named `entry` of a collection, the only one of a collection of one, or the whole file if
// it is one drafter's config. `source` is the file's name for messages. Errors, each one line:
//   FAILED_PRECONDITION  an entry with `verified: false`; says what is not known of it, and why
//   those of ParseDrafterConfig: no such entry, or a drafter that spec/drafter.md does not describe
StatusOr<DrafterEntry> FindRunnableEntry(const Json& json, const std::string& source,
                                         const std::string& entry = "");

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_DRAFTER_ENTRY_H_
