#include "kernels/plugin/plugin_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace draftmark::plugin {

bool IsPluginPath(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".so");
}

StatusOr<PluginLibrary> PluginLibrary::Load(const std::string& path) {
  // Without a '/' the loader would look elsewhere.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
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
  StatusOr<PluginTable> table = ReadPluginTable(entry(DRAFTMARK_PLUGIN_ABI));
  if (!table.ok()) return table.status().Annotated(path);
  return PluginLibrary(*std::move(table));
}

}  // namespace draftmark::plugin
