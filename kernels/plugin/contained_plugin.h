// ContainedPlugin: a plug-in in a process of its own, behind the interfaces that suites know:
// operations by case, and DraftSession.
//
//   DM_ASSIGN_OR_RETURN(const auto plugin, ContainedPlugin::Open({.library = "./libmine.so"}));
//   PluginAnswer answer = plugin->Query(c);
//   if (answer.ok()) answer = plugin->Run(c, operands, values);
//
// A crash, an exit, a hang beyond the time limit, a write beside an operand or to one that is only
// read: each is a failed answer that says so (PluginAnswer::kind), and the next call has a fresh
// process. A process that dies after it has run other cases may die of one of those: the case is
// run once more in a process of its own, and if it lives there, that is its result, and
// `late_deaths` has the other. What is judged is judged here, by memory and results that the
// plug-in no longer reaches. One thread at a time, always the same.
#ifndef DRAFTMARK_KERNELS_PLUGIN_CONTAINED_PLUGIN_H_
#define DRAFTMARK_KERNELS_PLUGIN_CONTAINED_PLUGIN_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/plugin/plugin_call.h"
#include "kernels/plugin/shared_memory.h"
#include "src/backend/draft_session.h"
#include "src/base/service_process.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/operations/operation.h"

namespace draftmark::plugin {

inline constexpr int kMostHangs = 2;

struct PluginOptions {
  std::string library;
  double seconds = 60;       // that one call may take
  double load_seconds = 60;  // that loading the library and starting its device may take
  // Runs RunPluginHost; the library's path is put behind it.
  std::vector<std::string> host = {"/proc/self/exe", "plugin-host"};
};

// What a plug-in says of itself.
struct PluginFacts {
  std::string name;
  std::string version;
  std::string description;  // PluginTable::Describe
  std::string kind;         // "cpu", "cuda"
  std::string device;       // in words; empty on the CPU
  std::string arch;         // "cpu", "sm_90"
  bool workspace_in_memory = true;
  bool has_sessions = false;
  std::vector<std::string> operations;
};

class PluginProcess;

class ContainedPlugin {
 public:
  // Loads the library once. INVALID_ARGUMENT or INTERNAL if it cannot be loaded, has a table that
  // cannot be, or dies of it; UNAVAILABLE if its device is not there; those of Spawn.
  static StatusOr<std::unique_ptr<ContainedPlugin>> Open(const PluginOptions& options);
  ~ContainedPlugin();

  const PluginFacts& facts() const;

  PluginAnswer Query(const OperationCase& c);
  // `workspace_bytes` is what the query said. Sets `values` if the answer is OK.
  PluginAnswer Run(const OperationCase& c, const OperandSet& operands,
                   std::uint64_t workspace_bytes, OperandValues& values);

  // Processes that died in a case that is not to blame, each as a line. Failures of the plug-in all
  // the same.
  const std::vector<std::string>& late_deaths() const { return late_deaths_; }

  // A session on the weights of a draft case's folder, in a process of its own. UNIMPLEMENTED: the
  // plug-in does not support it. This and all else that it answers but OK, now or in a later call
  // of the session, is in `session_answer` as well.
  StatusOr<std::unique_ptr<DraftSession>> OpenSession(const std::string& directory,
                                                      const DrafterConfig& config,
                                                      const SessionLimits& limits);
  // Of any session since the last one that was opened behind an answer other than OK.
  PluginAnswer session_answer() const { return *session_answer_; }

 private:
  explicit ContainedPlugin(PluginOptions options);

  // Not OK for an operation that did not return too often.
  PluginAnswer Hung(const OperationCase& c) const;
  // The process for operations, a new one if there is none.
  StatusOr<PluginProcess*> Process();
  // `ask` in the process for operations, and perhaps again in another one.
  PluginAnswer AskFor(const OperationCase& c,
                      const std::function<PluginAnswer(PluginProcess&)>& ask);
  Status Place(const OperandSet& operands, const Regions& regions, SharedMemory& memory);
  PluginAnswer Check(const OperandSet& operands, const Regions& regions,
                     const SharedMemory& memory) const;

  const PluginOptions options_;
  std::unique_ptr<PluginProcess> process_;
  PluginFacts facts_;
  std::map<std::string, int, std::less<>> hangs_;  // by operation
  std::vector<std::string> late_deaths_;
  // Shared with the session, which may outlive a later one.
  std::shared_ptr<PluginAnswer> session_answer_ = std::make_shared<PluginAnswer>();
};

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_CONTAINED_PLUGIN_H_
