// The process in which a plug-in lives: what `draftmark plugin-host` runs.
//
//   return plugin::RunPluginHost("./libmine.so");
//
// Loads the library, answers requests (plugin_protocol.h) on the descriptor of the connection until
// the other side is gone, and returns the exit code. Whatever the plug-in does to this process, the
// other (plugin_process.h) says so and starts a new one.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_HOST_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_HOST_H_

#include <string>

namespace draftmark::plugin {

int RunPluginHost(const std::string& library);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_HOST_H_
