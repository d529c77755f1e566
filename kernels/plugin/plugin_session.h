// PluginSession: a DraftSession whose other end is a plug-in in its process. Internal to this
// folder; ContainedPlugin opens them.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_SESSION_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_SESSION_H_

#include <memory>
#include <string>

#include "kernels/plugin/plugin_process.h"
#include "src/backend/draft_session.h"
#include "src/config/drafter_config.h"

namespace draftmark::plugin {

// `told` gets what the plug-in answers but OK, now or in a later call.
StatusOr<std::unique_ptr<DraftSession>> OpenPluginSession(std::unique_ptr<PluginProcess> process,
                                                          const std::string& directory,
                                                          const DrafterConfig& config,
                                                          const SessionLimits& limits,
                                                          std::shared_ptr<PluginAnswer> told);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_SESSION_H_
