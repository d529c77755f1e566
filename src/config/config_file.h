// Config files of other people's models, as JSON.
//
//   DM_ASSIGN_OR_RETURN(const Json json, ReadConfigFile("config.json"));
//
// Takes what published files contain and strict JSON does not: bare NaN and Infinity (a read of one
// as a number is an error), and a key given twice with the same value. Errors name the path:
// NOT_FOUND and the like for the file, DATA_LOSS for what is not JSON. Thread-safe.
#ifndef DRAFTMARK_SRC_CONFIG_CONFIG_FILE_H_
#define DRAFTMARK_SRC_CONFIG_CONFIG_FILE_H_

#include <string>

#include "src/base/json.h"
#include "src/base/status.h"

namespace draftmark {

StatusOr<Json> ReadConfigFile(const std::string& path);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_CONFIG_FILE_H_
