#include "kernels/plugin/plugin_session.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "src/backend/stages.h"

namespace draftmark::plugin {
namespace {

class PluginSession final : public DraftSession {
 public:
  PluginSession(std::unique_ptr<PluginProcess> process, DrafterConfig config,
                std::shared_ptr<PluginAnswer> told)
      : process_(std::move(process)), config_(std::move(config)), told_(std::move(told)) {}

  Status Open(const std::string& directory, const SessionLimits& limits) {
    // The plug-in may have gone to another folder.
    std::error_code error;  // the overload that does not throw
    PacketWriter request;
    Write(Request::kOpen, request)
        .Text(std::filesystem::absolute(directory, error).string())
        .U64(limits.max_batch)
        .U64(limits.max_context)
        .U64(limits.ctx_window)
        .U64(limits.gamma);
    return Ask(request, "create").status();
  }

  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    if (taps.size() != positions.size() * config_.tap_width()) {
      return InvalidArgumentError(fmt::format("band {}: {} rows need {} tap values, found {}", band,
                                              positions.size(),
                                              positions.size() * config_.tap_width(), taps.size()));
    }
    PacketWriter request;
    Write(Request::kAppend, request).U64(band).Array(taps).Array(positions);
    return Ask(request, "append_context").status();
  }

  Status DropFront(std::size_t band, std::uint64_t rows) override {
    PacketWriter request;
    Write(Request::kDrop, request).U64(band).U64(rows);
    return Ask(request, "drop_front").status();
  }

  Status Reset(std::size_t band) override {
    PacketWriter request;
    Write(Request::kReset, request).U64(band);
    return Ask(request, "reset").status();
  }

  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    PacketWriter request;
    Write(Request::kPropose, request).U64(requests.size());
    for (const BlockRequest& block : requests) {
      request.U64(block.band).I64(block.start).Array(std::span<const std::uint32_t>(block.tokens));
    }
    std::vector<std::string> wanted;
    for (std::string& stage : StagesInDataFlowOrder(config_)) {
      if (sink != nullptr && sink->Wants(stage)) wanted.push_back(std::move(stage));
    }
    request.U64(wanted.size());
    for (const std::string& stage : wanted) request.Text(stage);
    DM_ASSIGN_OR_RETURN(const MessageBytes bytes, Ask(request, "propose"));
    return Read(bytes, requests, sink);
  }

 private:
  // The results behind an answer that is OK; else what it says, which is kept as well.
  StatusOr<MessageBytes> Ask(const PacketWriter& request, std::string_view function) {
    if (!process_->alive()) return FailedPreconditionError("the plug-in's process has ended");
    MessageBytes rest;
    PluginAnswer answer = process_->Ask(request, rest);
    PacketReader reader(rest);
    const std::span<const std::byte> results = reader.Bytes();
    if (answer.ok() && !reader.Complete()) {
      answer = FailedAnswer("garbage", "its process does not answer as it should");
    }
    if (answer.ok()) return MessageBytes(results.begin(), results.end());
    if (answer.result == PluginResult::kUnsupported && function != "create") {
      // Else whoever is wrong could go on with it until it counts.
      answer =
          FailedAnswer("contradiction",
                       "its create supports the draft, but it says unsupported: " + answer.message);
    }
    if (answer.result == PluginResult::kUnsupported) {
      *told_ = answer;
      return UnimplementedError(answer.message);
    }
    return Fail(FailedAnswer(answer.kind, fmt::format("{}: {}", function, answer.message)));
  }

  Status Fail(PluginAnswer answer) {
    *told_ = std::move(answer);
    return InternalError(told_->message);
  }

  StatusOr<std::vector<BlockResult>> Read(const MessageBytes& bytes,
                                          std::span<const BlockRequest> requests, StageSink* sink) {
    PacketReader results(bytes);
    std::vector<BlockResult> blocks(results.Count());
    for (BlockResult& block : blocks) {
      block.draft_tokens = results.Array<std::uint32_t>();
      block.margin = results.Array<double>();
      block.confidence = results.Array<double>();
      // A drafter without the head leaves them as they were.
      if (!block.confidence.empty() && std::isnan(block.confidence.front())) {
        block.confidence.clear();
      }
    }
    PacketReader stages(ReadStages(results));
    if (!results.Complete() || blocks.size() != requests.size()) {
      return Fail(FailedAnswer("garbage", "propose: its process does not answer as it should"));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (std::size_t draft = 0; draft < blocks[i].draft_tokens.size(); ++draft) {
        const std::uint32_t token = blocks[i].draft_tokens[draft];
        if (token < config_.vocab_size) continue;
        return Fail(FailedAnswer(
            "contradiction", fmt::format("propose: band {}: draft {}: expected a token below {}, "
                                         "found {}{}",
                                         requests[i].band, draft, config_.vocab_size, token,
                                         token == UINT32_MAX ? " (nothing was written)" : "")));
      }
    }
    for (std::uint64_t i = 0; i < stage_count_ && sink != nullptr; ++i) {
      const std::uint64_t band = stages.U64();
      const std::string name = stages.Text();
      const std::vector<std::uint64_t> shape = stages.Array<std::uint64_t>();
      const std::vector<double> values = stages.Array<double>();
      sink->OnStage({band, name, shape, values});
    }
    return blocks;
  }

  std::span<const std::byte> ReadStages(PacketReader& results) {
    stage_count_ = results.U64();
    return results.Bytes();
  }

  const std::unique_ptr<PluginProcess> process_;
  const DrafterConfig config_;
  const std::shared_ptr<PluginAnswer> told_;
  std::uint64_t stage_count_ = 0;  // of the last propose
};

}  // namespace

StatusOr<std::unique_ptr<DraftSession>> OpenPluginSession(std::unique_ptr<PluginProcess> process,
                                                          const std::string& directory,
                                                          const DrafterConfig& config,
                                                          const SessionLimits& limits,
                                                          std::shared_ptr<PluginAnswer> told) {
  auto session = std::make_unique<PluginSession>(std::move(process), config, std::move(told));
  DM_RETURN_IF_ERROR(session->Open(directory, limits));
  return std::unique_ptr<DraftSession>(std::move(session));
}

}  // namespace draftmark::plugin
