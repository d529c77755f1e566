#include "kernels/plugin/plugin_process.h"

#include <fmt/format.h>

namespace draftmark::plugin {

StatusOr<std::unique_ptr<PluginProcess>> PluginProcess::Start(const PluginOptions& options) {
  DM_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Create());
  std::vector<std::string> command = options.host;
  command.push_back(options.library);
  DM_ASSIGN_OR_RETURN(std::unique_ptr<ServiceProcess> service,
                      ServiceProcess::Start(command, {memory.descriptor()}));
  std::unique_ptr<PluginProcess> process(
      new PluginProcess(std::move(service), std::move(memory), options.seconds));
  if (const Status hello = process->Hello(options.load_seconds); !hello.ok()) {
    // What the library itself says begins with its path.
    const bool named = hello.message().starts_with(options.library);
    return named ? hello : hello.Annotated(options.library);
  }
  return process;
}

Status PluginProcess::Hello(double seconds) {
  PacketWriter request;
  Write(Request::kHello, request);
  MessageBytes results;
  const PluginAnswer answer = Ask(request, seconds, "while it was loaded", results);
  if (answer.kind == "open") return InvalidArgumentError(answer.message);
  if (!answer.ok()) return InternalError(answer.message);
  PacketReader reader(results);
  facts_.name = reader.Text();
  facts_.version = reader.Text();
  facts_.description = reader.Text();
  facts_.kind = reader.Text();
  facts_.device = reader.Text();
  facts_.arch = reader.Text();
  facts_.workspace_in_memory = reader.U64() != 0;
  facts_.has_sessions = reader.U64() != 0;
  facts_.operations.resize(reader.Count());
  for (std::string& operation : facts_.operations) operation = reader.Text();
  if (!reader.Complete()) return InternalError("its process does not answer as it should");
  return OkStatus();
}

PluginAnswer PluginProcess::Ask(const PacketWriter& request, double seconds, std::string_view when,
                                MessageBytes& results) {
  PacketWriter numbered;
  numbered.U64(++requests_).Append(request);
  const ServiceReply reply = service_->Ask(numbered.bytes(), seconds);
  if (reply.ending) {
    alive_ = false;
    return FailedAnswer(std::string(reply.ending->KindName()), reply.ending->Describe(when));
  }
  // The answer is short; what follows it is told by its size.
  PacketReader reader(reply.bytes);
  const bool of_this_request = reader.U64() == requests_;
  PluginAnswer answer = ReadAnswer(reader);
  const std::span<const std::byte> rest = reader.Rest();
  results.assign(rest.begin(), rest.end());
  if (!reader.Complete() || !of_this_request) {
    alive_ = false;
    return FailedAnswer("garbage", "its process does not answer as it should");
  }
  if (answer.kind == "device error" || answer.kind == "crash") alive_ = false;
  return answer;
}

}  // namespace draftmark::plugin
