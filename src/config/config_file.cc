#include "src/config/config_file.h"

#include "src/base/file_system.h"

namespace draftmark {

StatusOr<Json> ReadConfigFile(const std::string& path) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  JsonParseOptions options;
  options.allow_nonfinite = true;
  options.allow_equal_duplicates = true;
  return ParseJson(text, path, options);
}

}  // namespace draftmark
