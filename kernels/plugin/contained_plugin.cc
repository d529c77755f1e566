#include "kernels/plugin/contained_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/plugin/plugin_process.h"
#include "kernels/plugin/plugin_session.h"
#include "src/tensor/tensor_view.h"

namespace draftmark::plugin {
namespace {

// How much of a workspace is poisoned, from either end: all of a large one would take longer than
// most cases.
constexpr std::uint64_t kPoisonedWorkspace = std::uint64_t{1} << 20;

std::vector<std::uint64_t> SizesOf(const OperandSet& operands) {
  std::vector<std::uint64_t> sizes;
  for (const Operand& operand : operands.operands()) sizes.push_back(operand.bytes.size());
  return sizes;
}

StatusOr<OperandValues> ReadOutputs(const OperandSet& operands, const Regions& regions,
                                    std::span<const std::byte> memory) {
  OperandValues values;
  for (std::size_t i = 0; i < operands.operands().size(); ++i) {
    const Operand& operand = operands.operands()[i];
    if (operand.role == OperandRole::kInput || operand.bytes.empty()) continue;
    const Region& region = regions.list[i];
    DM_ASSIGN_OR_RETURN(
        values[operand.name],
        ToDoubles({operand.dtype, operand.shape, memory.subspan(region.offset, region.bytes)}));
  }
  return values;
}

}  // namespace

StatusOr<std::unique_ptr<ContainedPlugin>> ContainedPlugin::Open(const PluginOptions& options) {
  std::unique_ptr<ContainedPlugin> plugin(new ContainedPlugin(options));
  DM_ASSIGN_OR_RETURN(const PluginProcess* const process, plugin->Process());
  plugin->facts_ = process->facts();
  return plugin;
}

ContainedPlugin::ContainedPlugin(PluginOptions options) : options_(std::move(options)) {}

ContainedPlugin::~ContainedPlugin() = default;

const PluginFacts& ContainedPlugin::facts() const { return facts_; }

StatusOr<PluginProcess*> ContainedPlugin::Process() {
  if (process_ == nullptr || !process_->alive()) {
    process_.reset();
    DM_ASSIGN_OR_RETURN(process_, PluginProcess::Start(options_));
  }
  return process_.get();
}

PluginAnswer ContainedPlugin::AskFor(const OperationCase& c,
                                     const std::function<PluginAnswer(PluginProcess&)>& ask) {
  const StatusOr<PluginProcess*> first = Process();
  if (!first.ok()) return FailedAnswer("restart", first.status().message());
  (*first)->Enter(c.Id());
  const std::string before = (*first)->case_before();
  PluginAnswer answer = ask(**first);
  if (answer.kind == "hang") ++hangs_[std::string(c.operation->name)];
  // Nothing of an earlier case is still on a device, and a hang has cost its time.
  const bool died = !(*first)->alive() && answer.kind != "hang" && answer.kind != "device error";
  if (!died || before.empty()) return answer;
  // Of this case, or of what another one left behind: in a process of its own it shows.
  const StatusOr<PluginProcess*> second = Process();
  if (!second.ok()) return answer;
  (*second)->Enter(c.Id());
  PluginAnswer alone = ask(**second);
  if (alone.kind == "hang") ++hangs_[std::string(c.operation->name)];
  if (!(*second)->alive()) return alone;
  late_deaths_.push_back(
      fmt::format("{} in {}, which lives in a process of its own: what it had "
                  "run before, last {}, is to blame",
                  answer.message, c.Id(), before));
  return alone;
}

PluginAnswer ContainedPlugin::Hung(const OperationCase& c) const {
  const auto hangs = hangs_.find(c.operation->name);
  if (hangs == hangs_.end() || hangs->second < kMostHangs) return {};
  return FailedAnswer("hang", fmt::format("was not run: {} cases of {} did not return", kMostHangs,
                                          c.operation->name));
}

PluginAnswer ContainedPlugin::Query(const OperationCase& c) {
  // So that a plug-in without sessions or with few operations costs no process.
  if (std::count(facts_.operations.begin(), facts_.operations.end(), c.operation->name) == 0) {
    return {PluginResult::kUnsupported, {}, "the plug-in has no such operation", 0};
  }
  if (PluginAnswer hung = Hung(c); !hung.ok()) return hung;
  PacketWriter request;
  Write(Request::kQuery, request).Text(c.Id());
  PluginAnswer answer = AskFor(c, [&](PluginProcess& process) {
    MessageBytes rest;
    return process.Ask(request, rest);
  });
  return LimitWorkspace(std::move(answer));
}

Status ContainedPlugin::Place(const OperandSet& operands, const Regions& regions,
                              SharedMemory& memory) {
  DM_RETURN_IF_ERROR(memory.Resize(regions.total));
  FillGuards(memory.bytes().first(regions.total), regions);
  const Region& workspace = regions.list.back();
  const std::uint64_t poisoned = std::min(workspace.bytes, kPoisonedWorkspace);
  for (const std::uint64_t begin : {std::uint64_t{0}, workspace.bytes - poisoned}) {
    std::memset(memory.bytes().data() + workspace.offset + begin, 0xFF, poisoned);
  }
  for (std::size_t i = 0; i < operands.operands().size(); ++i) {
    const std::vector<std::byte>& bytes = operands.operands()[i].bytes;
    std::copy(bytes.begin(), bytes.end(), memory.bytes().data() + regions.list[i].offset);
  }
  return OkStatus();
}

PluginAnswer ContainedPlugin::Check(const OperandSet& operands, const Regions& regions,
                                    const SharedMemory& memory) const {
  const auto name = [&](std::size_t region) {
    const auto& list = operands.operands();
    return region < list.size() ? std::string_view(list[region].name) : "workspace";
  };
  if (const auto broken = FindBrokenGuard(memory.bytes().first(regions.total), regions)) {
    return FailedAnswer(
        "wrote outside",
        fmt::format("{}: wrote beside its {} bytes, at offset {}", name(broken->region),
                    regions.list[broken->region].bytes, broken->offset));
  }
  for (std::size_t i = 0; i < operands.operands().size(); ++i) {
    const Operand& operand = operands.operands()[i];
    if (operand.role != OperandRole::kInput) continue;
    const auto now = memory.bytes().subspan(regions.list[i].offset, regions.list[i].bytes);
    const auto differs =
        std::mismatch(operand.bytes.begin(), operand.bytes.end(), now.begin(), now.end());
    if (differs.first == operand.bytes.end()) continue;
    return FailedAnswer("changed an input",
                        fmt::format("{}: changed byte {} of an operand that it reads", operand.name,
                                    differs.first - operand.bytes.begin()));
  }
  return {};
}

PluginAnswer ContainedPlugin::Run(const OperationCase& c, const OperandSet& operands,
                                  std::uint64_t workspace_bytes, OperandValues& values) {
  std::vector<std::uint64_t> sizes = SizesOf(operands);
  sizes.push_back(facts_.workspace_in_memory ? workspace_bytes : 0);
  const StatusOr<Regions> regions = LayOut(sizes);
  if (!regions.ok()) return FailedAnswer("memory", regions.status().message());
  PacketWriter request;
  Write(Request::kRun, request)
      .Text(c.Id())
      .U64(regions->total)
      .Array(std::span<const Region>(regions->list))
      .U64(workspace_bytes);
  return AskFor(c, [&](PluginProcess& process) -> PluginAnswer {
    if (const Status placed = Place(operands, *regions, process.memory()); !placed.ok()) {
      return FailedAnswer("memory", placed.message());
    }
    MessageBytes rest;
    PluginAnswer answer = process.Ask(request, rest);
    if (answer.ok()) answer = Check(operands, *regions, process.memory());
    if (!answer.ok()) return answer;
    StatusOr<OperandValues> outputs = ReadOutputs(operands, *regions, process.memory().bytes());
    if (!outputs.ok()) return FailedAnswer("contradiction", outputs.status().message());
    values = *std::move(outputs);
    return answer;
  });
}

StatusOr<std::unique_ptr<DraftSession>> ContainedPlugin::OpenSession(const std::string& directory,
                                                                     const DrafterConfig& config,
                                                                     const SessionLimits& limits) {
  // Sessions that run side by side tell the same one.
  if (!session_answer_->ok()) session_answer_ = std::make_shared<PluginAnswer>();
  if (!facts_.has_sessions) {
    *session_answer_ = {PluginResult::kUnsupported, {}, "the plug-in has no draft sessions", 0};
    return UnimplementedError(session_answer_->message);
  }
  StatusOr<std::unique_ptr<PluginProcess>> process = PluginProcess::Start(options_);
  if (!process.ok()) {
    *session_answer_ = FailedAnswer("restart", process.status().message());
    return process.status();
  }
  return OpenPluginSession(*std::move(process), directory, config, limits, session_answer_);
}

}  // namespace draftmark::plugin
