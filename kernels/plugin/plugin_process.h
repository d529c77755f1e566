// PluginProcess: one process with a plug-in in it, and the memory that both see. Internal to this
// folder.
//
//   DM_ASSIGN_OR_RETURN(const auto process, PluginProcess::Start(options));
//   MessageBytes reply;
//   const PluginAnswer answer = process->Ask(request, reply);
//   if (!process->alive()) ...   // the next one needs another
//
// One thread at a time.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_PROCESS_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/plugin/contained_plugin.h"
#include "kernels/plugin/plugin_protocol.h"

namespace draftmark::plugin {

class PluginProcess {
 public:
  static StatusOr<std::unique_ptr<PluginProcess>> Start(const PluginOptions& options);

  const PluginFacts& facts() const { return facts_; }
  SharedMemory& memory() { return memory_; }
  bool alive() const { return alive_; }

  // What came behind the answer is in `results`. After a device error or an exception there is no
  // going on either.
  PluginAnswer Ask(const PacketWriter& request, MessageBytes& results) {
    return Ask(request, seconds_, /*when=*/"", results);
  }

  // Of who uses it: a request of this case comes. A case has several.
  void Enter(const std::string& id) {
    if (id != this_case_) case_before_ = std::exchange(this_case_, id);
  }
  // The case before it; empty if there was none in this process.
  const std::string& case_before() const { return case_before_; }

 private:
  PluginProcess(std::unique_ptr<ServiceProcess> service, SharedMemory memory, double seconds)
      : service_(std::move(service)), memory_(std::move(memory)), seconds_(seconds) {}
  Status Hello(double seconds);
  // `when`: for the description of an ending.
  PluginAnswer Ask(const PacketWriter& request, double seconds, std::string_view when,
                   MessageBytes& results);

  std::unique_ptr<ServiceProcess> service_;
  SharedMemory memory_;
  const double seconds_;
  PluginFacts facts_;
  std::string this_case_, case_before_;
  bool alive_ = true;
  std::uint64_t requests_ = 0;
};

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_PROCESS_H_
