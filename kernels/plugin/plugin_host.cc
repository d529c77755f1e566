#include "kernels/plugin/plugin_host.h"

#include <memory>
#include <utility>
#include <vector>

#include "kernels/plugin/hosted_session.h"
#include "kernels/plugin/plugin_library.h"
#include "kernels/plugin/plugin_protocol.h"
#include "kernels/plugin/plugin_runner.h"
#include "kernels/plugin/shared_memory.h"
#include "src/operations/registry.h"

namespace draftmark::plugin {
namespace {

class Host {
 public:
  explicit Host(PluginLibrary library) : library_(std::move(library)) {}

  Status Open() {
    DM_ASSIGN_OR_RETURN(runner_, OpenRunner(library_.table()));
    if (library_.table().session) {
      session_ = std::make_unique<HostedSession>(*library_.table().session, *runner_);
    }
    return OkStatus();
  }

  void Handle(PacketReader& fields, PacketWriter& reply) {
    const Request request = ReadRequest(fields);
    switch (request) {
      case Request::kHello:
        return Hello(reply);
      case Request::kQuery:
      case Request::kRun:
        Write(OfOperation(request, fields), reply);
        return;
      default:
        if (session_ == nullptr) {
          Write({PluginResult::kUnsupported, {}, "the plug-in has no draft sessions", 0}, reply);
          return;
        }
        session_->Handle(request, fields, reply);
    }
  }

 private:
  void Hello(PacketWriter& reply) const {
    const PluginTable& table = library_.table();
    Write(PluginAnswer(), reply);
    reply.Text(table.name)
        .Text(table.version)
        .Text(table.Describe())
        .Text(PluginDeviceName(table.device))
        .Text(runner_->device())
        .Text(runner_->arch())
        .U64(runner_->workspace_in_memory())
        .U64(table.session.has_value())
        .U64(table.operations.size());
    for (const PluginOperation& operation : table.operations) {
      reply.Text(operation.declaration->name);
    }
  }

  PluginAnswer OfOperation(Request request, PacketReader& fields) {
    const StatusOr<OperationCase> c = FindCase(fields.Text());
    if (!c.ok()) return FailedAnswer("failed", c.status().message());
    const PluginOperation* const operation = library_.table().Find(c->operation->name);
    if (operation == nullptr) {
      return {PluginResult::kUnsupported, {}, "the plug-in has no such operation", 0};
    }
    if (request == Request::kRun) return Run(*operation, *c, fields);
    StatusOr<PluginCall> call = PluginCall::Create(*c);
    if (!call.ok()) return {PluginResult::kUnsupported, {}, call.status().message(), 0};
    return call->Query(*operation);
  }

  PluginAnswer Run(const PluginOperation& operation, const OperationCase& c, PacketReader& fields) {
    Regions regions;
    regions.total = fields.U64();
    regions.list = fields.Array<Region>();
    const std::uint64_t workspace_bytes = fields.U64();
    const StatusOr<SharedMemory> memory =
        SharedMemory::Open(kSharedMemoryDescriptor, regions.total);
    if (!memory.ok()) return FailedAnswer("failed", memory.status().message());
    return runner_->Run(operation, c, memory->bytes(), regions, workspace_bytes);
  }

  const PluginLibrary library_;
  std::unique_ptr<PluginRunner> runner_;
  std::unique_ptr<HostedSession> session_;
};

}  // namespace

int RunPluginHost(const std::string& library) {
  std::unique_ptr<Host> host;
  Status opened;
  return RunService(
      [&](const MessageBytes& request) {
        // At the first request, so that what loading does has an answer or an ending.
        if (host == nullptr && opened.ok()) {
          StatusOr<PluginLibrary> loaded = PluginLibrary::Load(library);
          opened = loaded.status();
          if (loaded.ok()) {
            host = std::make_unique<Host>(*std::move(loaded));
            opened = host->Open();
          }
        }
        PacketReader fields(request);
        PacketWriter reply;
        reply.U64(fields.U64());
        if (opened.ok()) {
          host->Handle(fields, reply);
        } else {
          Write(FailedAnswer("open", opened.message()), reply);
        }
        return reply.bytes();
      },
      kSharedMemoryDescriptor - kServiceDescriptor);
}

}  // namespace draftmark::plugin
