#include "kernels/plugin/plugin_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "kernels/plugin/plugin_call.h"

namespace draftmark::plugin {

bool IsPluginPath(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".so");
}

StatusOr<PluginLibrary> PluginLibrary::Load(const std::string& path) {
  // Without a '/' the loader would look elsewhere.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  // Opening a pipe would wait for somebody to write to it.
  struct stat facts = {};
  if (stat(file.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    return InvalidArgumentError(fmt::format("{}: cannot be loaded: it is no regular file", path));
  }
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return InvalidArgumentError(fmt::format("{}: cannot be loaded: {}", path, dlerror()));
  }
  void* const symbol = dlsym(library, DRAFTMARK_PLUGIN_ENTRY_NAME);
  if (symbol == nullptr) {
    return InvalidArgumentError(
        fmt::format("{}: is no plug-in: expected it to export {}, found no such symbol", path,
                    DRAFTMARK_PLUGIN_ENTRY_NAME));
  }
  const auto entry = reinterpret_cast<draftmark_plugin_entry_function>(symbol);
  const draftmark_plugin* raw = nullptr;
  try {
    raw = entry(DRAFTMARK_PLUGIN_ABI);
  } catch (...) {
    return InvalidArgumentError(
        fmt::format("{}: {} while it was loaded", path, DescribeException()));
  }
  StatusOr<PluginTable> table = ReadPluginTable(raw);
  if (!table.ok()) return table.status().Annotated(path);
  return PluginLibrary(*std::move(table));
}

}  // namespace draftmark::plugin
