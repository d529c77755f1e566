#include "kernels/plugin/plugin_runner.h"

namespace draftmark::plugin {

StatusOr<std::unique_ptr<PluginRunner>> OpenCudaRunner(const PluginTable& /*table*/) {
  return UnavailableError(
      "the plug-in computes on CUDA, and this program was built without CUDA (tools/setup installs "
      "it)");
}

}  // namespace draftmark::plugin
