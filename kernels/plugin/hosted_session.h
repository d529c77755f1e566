// HostedSession: a draft session of a plug-in, in the plug-in's process. Internal to this folder;
// the other end is plugin_session.h.
//
// Requests that begin with kOpen, kAppend, kDrop, kReset or kPropose go to Handle, which reads
// their fields and writes the reply. One session at a time; one thread.
#ifndef DRAFTMARK_KERNELS_PLUGIN_HOSTED_SESSION_H_
#define DRAFTMARK_KERNELS_PLUGIN_HOSTED_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plugin/draftmark_plugin.h"
#include "kernels/plugin/plugin_protocol.h"
#include "kernels/plugin/plugin_runner.h"
#include "src/cases/drafter_case.h"

namespace draftmark::plugin {

// What a config means, by name: "hidden_size", "layers.0.window" (0: none), "rope.frequency.3". The
// list stands in README.md. INVALID_ARGUMENT for an impossible rotary width.
StatusOr<std::vector<std::pair<std::string, double>>> NumbersOf(const DrafterConfig& config);

class HostedSession {
 public:
  // Both must outlive the session.
  HostedSession(const draftmark_session_table& table, PluginRunner& runner);
  ~HostedSession();
  HostedSession(const HostedSession&) = delete;
  HostedSession& operator=(const HostedSession&) = delete;

  void Handle(Request request, PacketReader& fields, PacketWriter& reply);

 private:
  struct Drafter;

  PluginAnswer Open(PacketReader& fields);
  PluginAnswer Create(PacketReader& fields);
  PluginAnswer Propose(PacketReader& fields, PacketWriter& results);

  const draftmark_session_table& table_;
  PluginRunner& runner_;
  std::unique_ptr<Drafter> drafter_;
  void* session_ = nullptr;
};

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_HOSTED_SESSION_H_
