// What our process and that of a plug-in say to each other. Internal to this folder.
//
// Requests are a number, a Request and its fields, replies the number of their request, an answer
// and its fields; so nothing that comes twice or late is taken for the answer to something else:
//   kHello                                                  -> facts (plugin_process.h)
//   kQuery   case id                                        -> (the answer has the workspace)
//   kRun     case id, bytes of shared memory, regions, workspace bytes
//   kOpen    folder of a draft case, limits
//   kAppend  band, taps, positions
//   kDrop    band, rows
//   kReset   band
//   kPropose blocks, names of wanted stages                 -> drafts, stages
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_PROTOCOL_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_PROTOCOL_H_

#include <cstdint>

#include "kernels/plugin/packet.h"
#include "kernels/plugin/plugin_call.h"
#include "src/base/service_process.h"

namespace draftmark::plugin {

enum class Request : std::uint64_t {
  kHello = 1,
  kQuery,
  kRun,
  kOpen,
  kAppend,
  kDrop,
  kReset,
  kPropose,
};

// Behind the descriptor of the connection.
inline constexpr int kSharedMemoryDescriptor = kServiceDescriptor + 1;

inline PacketWriter& Write(Request request, PacketWriter& writer) {
  return writer.U64(static_cast<std::uint64_t>(request));
}
inline Request ReadRequest(PacketReader& reader) { return static_cast<Request>(reader.U64()); }

inline PacketWriter& Write(const PluginAnswer& answer, PacketWriter& writer) {
  return writer.U64(static_cast<std::uint64_t>(answer.result))
      .Text(answer.kind)
      .Text(answer.message)
      .U64(answer.workspace_bytes);
}
inline PluginAnswer ReadAnswer(PacketReader& reader) {
  PluginAnswer answer;
  const std::uint64_t result = reader.U64();
  answer.result = result <= static_cast<std::uint64_t>(PluginResult::kFailed)
                      ? static_cast<PluginResult>(result)
                      : PluginResult::kFailed;
  answer.kind = reader.Text();
  answer.message = reader.Text();
  answer.workspace_bytes = reader.U64();
  return answer;
}

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_PROTOCOL_H_
