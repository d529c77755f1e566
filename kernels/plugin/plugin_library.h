// PluginLibrary: the shared library of a plug-in, loaded into this process, and its table.
//
//   DM_ASSIGN_OR_RETURN(const PluginLibrary library, PluginLibrary::Load("./libmine.so"));
//   library.table().Find("rms_norm")
//
// Loading runs the library's code, which may do anything: the process should be one that may die
// (plugin_host.h, benchmarks/plugin_timing.h). The library is never unloaded, since threads and
// handlers of it may still run. Immutable, thread-safe.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_LIBRARY_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_LIBRARY_H_

#include <string>
#include <utility>

#include "kernels/plugin/plugin_table.h"
#include "src/base/status.h"

namespace draftmark::plugin {

// Whether a backend's name is that of a plug-in: it holds a '/' or ends with ".so".
bool IsPluginPath(const std::string& name);

class PluginLibrary {
 public:
  // `path` is a file, also without a '/'. INVALID_ARGUMENT for one that is not there, is no
  // library, lacks draftmark_plugin_entry or has a table that cannot be. Messages begin with the
  // path.
  static StatusOr<PluginLibrary> Load(const std::string& path);

  const PluginTable& table() const { return table_; }

 private:
  explicit PluginLibrary(PluginTable table) : table_(std::move(table)) {}

  PluginTable table_;
};

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_LIBRARY_H_
