// What the two ends of timings say to each other. Internal to this folder.
//
// A request is a number, a TimingRequest and an id (of kSupports and kPrepare; else empty), its
// reply the same number, a status code and a message, and if that is OK:
//   kOpen      a text
//   kSupports  0 or 1
//   kPrepare   TimedFacts
//   kSample    seconds, whether there is a clock, the clock
// Doubles travel as their bits.
#ifndef DRAFTMARK_BENCHMARKS_CONTAINED_TIMING_PROTOCOL_H_
#define DRAFTMARK_BENCHMARKS_CONTAINED_TIMING_PROTOCOL_H_

#include <bit>
#include <cstdint>

#include "benchmarks/contained/timing_service.h"
#include "kernels/plugin/packet.h"

namespace draftmark {

enum class TimingRequest : std::uint64_t { kOpen = 1, kSupports, kPrepare, kSample };

inline void WriteDouble(double value, plugin::PacketWriter& writer) {
  writer.U64(std::bit_cast<std::uint64_t>(value));
}
inline double ReadDouble(plugin::PacketReader& reader) {
  return std::bit_cast<double>(reader.U64());
}

inline void WriteStatus(const Status& status, plugin::PacketWriter& writer) {
  writer.U64(static_cast<std::uint64_t>(status.code())).Text(status.message());
}
// A code that does not exist is INTERNAL.
inline Status ReadStatus(plugin::PacketReader& reader) {
  const std::uint64_t code = reader.U64();
  const std::string message = reader.Text();
  const auto most = static_cast<std::uint64_t>(StatusCode::kInternal);
  return code == 0
             ? OkStatus()
             : Status(code < most ? static_cast<StatusCode>(code) : StatusCode::kInternal, message);
}

inline void WriteFacts(const TimedFacts& facts, plugin::PacketWriter& writer) {
  for (const double value : {facts.bytes, facts.flops, facts.least_seconds}) {
    WriteDouble(value, writer);
  }
  writer.U64(facts.kernels).U64(facts.peak_bytes).U64(facts.reuse_bytes).U64(facts.launches);
  writer.U64(facts.judged ? 1 : 0);
}
inline TimedFacts ReadFacts(plugin::PacketReader& reader) {
  TimedFacts facts;
  for (double* const value : {&facts.bytes, &facts.flops, &facts.least_seconds}) {
    *value = ReadDouble(reader);
  }
  facts.kernels = reader.U64();
  facts.peak_bytes = reader.U64();
  facts.reuse_bytes = reader.U64();
  facts.launches = reader.U64();
  facts.judged = reader.U64() != 0;
  return facts;
}

inline void WriteSample(const TimedSample& sample, plugin::PacketWriter& writer) {
  WriteDouble(sample.seconds, writer);
  writer.U64(sample.clock_hz ? 1 : 0);
  WriteDouble(sample.clock_hz.value_or(0), writer);
}
inline TimedSample ReadSample(plugin::PacketReader& reader) {
  TimedSample sample;
  sample.seconds = ReadDouble(reader);
  const bool has_clock = reader.U64() != 0;
  const double clock = ReadDouble(reader);
  if (has_clock) sample.clock_hz = clock;
  return sample;
}

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_CONTAINED_TIMING_PROTOCOL_H_
