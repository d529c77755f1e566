#include "benchmarks/contained/timing_service.h"

#include "benchmarks/contained/timing_protocol.h"
#include "src/base/service_process.h"

namespace draftmark {
namespace {

// The status, and behind it what `write` makes of the value.
template <typename T, typename Write>
void Reply(const StatusOr<T>& value, plugin::PacketWriter& reply, const Write& write) {
  WriteStatus(value.ok() ? OkStatus() : value.status(), reply);
  if (value.ok()) write(*value, reply);
}

void Answer(TimingSubject& subject, plugin::PacketReader& request, plugin::PacketWriter& reply) {
  const auto what = static_cast<TimingRequest>(request.U64());
  const std::string id = request.Text();
  switch (what) {
    case TimingRequest::kOpen:
      return Reply(subject.Open(), reply,
                   [](const std::string& text, plugin::PacketWriter& out) { out.Text(text); });
    case TimingRequest::kSupports:
      return Reply(subject.Supports(id), reply,
                   [](bool supported, plugin::PacketWriter& out) { out.U64(supported ? 1 : 0); });
    case TimingRequest::kPrepare:
      return Reply(subject.Prepare(id), reply, WriteFacts);
    case TimingRequest::kSample:
      return Reply(subject.Sample(), reply, WriteSample);
  }
  WriteStatus(InternalError("an unknown request"), reply);
}

}  // namespace

int ServeTimings(TimingSubject& subject) {
  return RunService([&](const MessageBytes& bytes) {
    plugin::PacketReader request(bytes);
    plugin::PacketWriter reply;
    reply.U64(request.U64());
    Answer(subject, request, reply);
    return reply.bytes();
  });
}

}  // namespace draftmark
