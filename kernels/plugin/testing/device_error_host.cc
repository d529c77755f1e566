// The process of a plug-in whose rms_norm meets a device error, without a device: for
// contained_plugin_test. Its argument, which is a plug-in elsewhere, is a file that each process adds a
// line to.
#include <fstream>

#include "kernels/plugin/plugin_protocol.h"

int main(int argc, char** argv) {
  using namespace draftmark;
  using namespace draftmark::plugin;
  if (argc != 2) return 2;
  std::ofstream(argv[1], std::ios::app) << "process\n";
  return RunService(
      [](const MessageBytes& request) {
        PacketReader fields(request);
        PacketWriter reply;
        reply.U64(fields.U64());
        if (ReadRequest(fields) == Request::kHello) {
          Write(PluginAnswer(), reply);
          reply.Text("fake").Text("1").Text("fake 1").Text("cuda").Text("a GPU").Text("sm_90");
          reply.U64(0).U64(0).U64(2).Text("rms_norm").Text("argmax");
          return reply.bytes();
        }
        const bool fails = fields.Text().starts_with("op/rms_norm/");
        Write(fails ? FailedAnswer("device error", "an illegal memory access") : PluginAnswer(),
              reply);
        return reply.bytes();
      },
      /*inherited=*/1);
}
