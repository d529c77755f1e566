#include "kernels/plugin/hosted_session.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>

#include "src/base/file_system.h"
#include "src/config/rope_table.h"
#include "src/tensor/tensor_view.h"

namespace draftmark::plugin {
namespace {

constexpr std::uint32_t kMostRank = 8;

PluginAnswer FromStatus(const Status& status) {
  if (status.code() == StatusCode::kUnimplemented) {
    return {PluginResult::kUnsupported, {}, status.message(), 0};
  }
  return FailedAnswer("failed", status.message());
}

// Collects the stages that a plug-in emits during one propose, as a packet's items.
class StageWriter {
 public:
  StageWriter(PluginRunner& runner, std::vector<std::string> wanted, std::set<std::uint32_t> bands)
      : runner_(runner), wanted_(std::move(wanted)), bands_(std::move(bands)) {
    sink_ = {
        .struct_size = sizeof(draftmark_stage_sink),
        .reserved = 0,
        .context = this,
        .wants = [](void* self, const char* stage) -> std::int32_t {
          return static_cast<StageWriter*>(self)->Wants(stage) ? 1 : 0;
        },
        .emit = [](void* self,
                   const draftmark_stage* stage) { static_cast<StageWriter*>(self)->Emit(stage); }};
  }

  const draftmark_stage_sink* sink() const { return &sink_; }
  // The first stage that could not be taken; empty if all were.
  const std::string& failure() const { return failure_; }
  void WriteTo(PacketWriter& writer) const { writer.U64(count_).Bytes(stages_.bytes()); }

 private:
  bool Wants(const char* stage) const {
    for (const std::string& wanted : wanted_) {
      if (stage != nullptr && wanted == stage) return true;
    }
    return false;
  }

  void Emit(const draftmark_stage* stage) {
    if (!failure_.empty()) return;
    if (stage == nullptr || stage->struct_size < sizeof(*stage) || stage->name == nullptr) {
      failure_ = "a stage without a name or of a struct that is too small";
      return;
    }
    // What nobody asked for is no mistake.
    if (!Wants(stage->name)) return;
    if (Status status = Take(*stage); !status.ok()) {
      failure_ = fmt::format("stage {}: {}", stage->name, status.message());
    }
  }

  Status Take(const draftmark_stage& stage) {
    if (!bands_.contains(stage.band)) {
      return InvalidArgumentError(fmt::format("band {} has no block in this propose", stage.band));
    }
    if (!taken_.insert({stage.band, stage.name}).second) {
      return InvalidArgumentError(fmt::format("came twice for band {}", stage.band));
    }
    const std::optional<DType> dtype = DTypeOf(stage.dtype);
    if (!dtype) return InvalidArgumentError(fmt::format("unknown dtype {}", stage.dtype));
    if (stage.rank == 0 || stage.rank > kMostRank || stage.shape == nullptr) {
      return InvalidArgumentError(fmt::format("expected a shape of 1 to {} extents", kMostRank));
    }
    if (stage.memory != DRAFTMARK_CPU && stage.memory != DRAFTMARK_CUDA) {
      return InvalidArgumentError(fmt::format("unknown memory {}", stage.memory));
    }
    const Shape shape(stage.shape, stage.shape + stage.rank);
    DM_ASSIGN_OR_RETURN(const std::uint64_t bytes, TensorBytes(*dtype, shape));
    if (bytes > kLargestMessage) return OutOfRangeError("larger than any stage");
    std::vector<std::byte> data(bytes);
    if (bytes > 0 && stage.data == nullptr) return InvalidArgumentError("data is NULL");
    if (stage.memory == DRAFTMARK_CUDA) {
      DM_RETURN_IF_ERROR(runner_.Download(stage.data, data));
    } else if (bytes > 0) {
      std::memcpy(data.data(), stage.data, bytes);
    }
    DM_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles({*dtype, shape, data}));
    stages_.U64(stage.band)
        .Text(stage.name)
        .Array(std::span<const std::uint64_t>(shape))
        .Array(std::span<const double>(values));
    ++count_;
    return OkStatus();
  }

  PluginRunner& runner_;
  const std::vector<std::string> wanted_;
  const std::set<std::uint32_t> bands_;
  std::set<std::pair<std::uint32_t, std::string>> taken_;
  draftmark_stage_sink sink_ = {};
  PacketWriter stages_;
  std::uint64_t count_ = 0;
  std::string failure_;
};

// The blocks of one propose as the interface has them, with room for their drafts.
class Blocks {
 public:
  Blocks(PacketReader& fields, const DrafterConfig& config) {
    tokens_.resize(fields.Count());
    for (std::vector<std::uint32_t>& tokens : tokens_) {
      const auto band = static_cast<std::uint32_t>(fields.U64());
      const std::int64_t start = fields.I64();
      tokens = fields.Array<std::uint32_t>();
      const std::uint64_t drafts = tokens.empty() ? 0 : config.drafts(tokens.size());
      draft_tokens_.emplace_back(drafts, UINT32_MAX);
      margins_.emplace_back(drafts, std::nan(""));
      confidences_.emplace_back(drafts, std::nan(""));
      blocks_.push_back({.struct_size = sizeof(draftmark_block),
                         .band = band,
                         .width = static_cast<std::uint32_t>(tokens.size()),
                         .draft_count = static_cast<std::uint32_t>(drafts),
                         .start = start,
                         .tokens = tokens.data(),
                         .draft_tokens = draft_tokens_.back().data(),
                         .margins = margins_.back().data(),
                         .confidences = confidences_.back().data()});
    }
    for (const draftmark_block& block : blocks_) list_.push_back(&block);
  }

  std::set<std::uint32_t> bands() const {
    std::set<std::uint32_t> bands;
    for (const draftmark_block& block : blocks_) bands.insert(block.band);
    return bands;
  }
  const draftmark_block* const* list() const { return list_.data(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(list_.size()); }
  void WriteTo(PacketWriter& writer) const {
    writer.U64(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      writer.Array(std::span<const std::uint32_t>(draft_tokens_[i]))
          .Array(std::span<const double>(margins_[i]))
          .Array(std::span<const double>(confidences_[i]));
    }
  }

 private:
  std::vector<std::vector<std::uint32_t>> tokens_;
  std::vector<std::vector<std::uint32_t>> draft_tokens_;
  std::vector<std::vector<double>> margins_;
  std::vector<std::vector<double>> confidences_;
  std::vector<draftmark_block> blocks_;
  std::vector<const draftmark_block*> list_;
};

}  // namespace

// What a plug-in's session may point into.
struct HostedSession::Drafter {
  explicit Drafter(DrafterCase loaded) : drafter_case(std::move(loaded)) {}

  Status Prepare() {
    DM_ASSIGN_OR_RETURN(config_text,
                        ReadTextFile(JoinPath(drafter_case.directory(), "config.json")));
    DM_ASSIGN_OR_RETURN(named_numbers, NumbersOf(drafter_case.config()));
    for (const auto& [name, value] : named_numbers) numbers.push_back({name.c_str(), value});
    const Checkpoint& checkpoint = *drafter_case.checkpoint();
    // Whole first: weights point into it.
    for (const std::string& name : checkpoint.names()) {
      DM_ASSIGN_OR_RETURN(TensorView view, checkpoint.Get(name));
      views.push_back(std::move(view));
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
      const std::optional<draftmark_dtype> dtype = PluginDType(views[i].dtype);
      if (!dtype) {
        return UnimplementedError(fmt::format("weight {}: the plug-in interface has no {}",
                                              checkpoint.names()[i], DTypeName(views[i].dtype)));
      }
      weights.push_back({.struct_size = sizeof(draftmark_weight),
                         .rank = static_cast<std::uint32_t>(views[i].shape.size()),
                         .dtype = *dtype,
                         .reserved = 0,
                         .name = checkpoint.names()[i].c_str(),
                         .data = views[i].bytes.data(),
                         .bytes = views[i].bytes.size(),
                         .shape = views[i].shape.data()});
    }
    for (const draftmark_weight& weight : weights) weight_list.push_back(&weight);
    return OkStatus();
  }

  DrafterCase drafter_case;
  std::string config_text;
  std::vector<std::pair<std::string, double>> named_numbers;
  std::vector<draftmark_number> numbers;
  std::vector<TensorView> views;
  std::vector<draftmark_weight> weights;
  std::vector<const draftmark_weight*> weight_list;
};

StatusOr<std::vector<std::pair<std::string, double>>> NumbersOf(const DrafterConfig& config) {
  DM_ASSIGN_OR_RETURN(const RopeTable rope, MakeRopeTable(config.rope, config.head_dim));
  std::vector<std::pair<std::string, double>> numbers;
  const auto add = [&](std::string name, auto value) {
    numbers.emplace_back(std::move(name), static_cast<double>(value));
  };
  add("kind", static_cast<int>(config.kind));  // 0 dflash, 1 dflash2, 2 dspark
  add("hidden_size", config.hidden_size);
  add("num_hidden_layers", config.num_hidden_layers);
  add("num_attention_heads", config.num_attention_heads);
  add("num_key_value_heads", config.num_key_value_heads);
  add("head_dim", config.head_dim);
  add("intermediate_size", config.intermediate_size);
  add("vocab_size", config.vocab_size);
  add("block_size", config.block_size);
  add("anchor_first", config.row_convention == RowConvention::kAnchorFirst);
  add("taps", config.target_layer_ids.size());
  add("target_hidden_size", config.target_hidden_size);
  if (config.mask_token_id) add("mask_token_id", *config.mask_token_id);
  add("rms_norm_eps", config.rms_norm_eps);
  add("attention_bias", config.attention_bias);
  for (std::size_t i = 0; i < config.layer_types.size(); ++i) {
    const bool slides = config.layer_types[i] == LayerType::kSlidingAttention;
    add(fmt::format("layers.{}.window", i), slides ? config.sliding_window.value_or(0) : 0);
    add(fmt::format("layers.{}.causal", i), config.layer_causal.at(i));
  }
  add("rope.amplitude", rope.amplitude);
  add("rope.partner", rope.partner);
  add("rope.pairs", rope.frequency.size());
  for (std::size_t i = 0; i < rope.frequency.size(); ++i) {
    add(fmt::format("rope.frequency.{}", i), rope.frequency[i]);
  }
  add("input_embedding_scale", config.input_embedding_scale);
  add("output_multiplier", config.output_multiplier);
  add("final_logit_softcapping", config.final_logit_softcapping.value_or(0));  // 0: none
  add("conv_kernel_size", config.conv_kernel_size);
  add("conv_group_size", config.conv_group_size);
  add("selector_rank", config.selector_rank);
  add("selector_top_k", config.selector_top_k);
  add("markov_rank", config.markov_rank);
  add("confidence_head", config.confidence_head);
  add("confidence_head_with_markov", config.confidence_head_with_markov);
  return numbers;
}

HostedSession::HostedSession(const draftmark_session_table& table, PluginRunner& runner)
    : table_(table), runner_(runner) {}

HostedSession::~HostedSession() {
  if (session_ != nullptr) table_.destroy(session_);
}

PluginAnswer HostedSession::Open(PacketReader& fields) {
  if (session_ != nullptr) table_.destroy(std::exchange(session_, nullptr));
  StatusOr<DrafterCase> loaded = DrafterCase::Load(fields.Text());
  if (!loaded.ok()) return FromStatus(loaded.status());
  drafter_ = std::make_unique<Drafter>(*std::move(loaded));
  if (const Status status = drafter_->Prepare(); !status.ok()) return FromStatus(status);
  return Create(fields);
}

PluginAnswer HostedSession::Create(PacketReader& fields) {
  draftmark_session_options options = {};
  options.struct_size = sizeof(options);
  options.max_batch = static_cast<std::uint32_t>(fields.U64());
  options.max_context = fields.U64();
  options.ctx_window = fields.U64();
  options.gamma = fields.U64();
  options.config = drafter_->config_text.c_str();
  options.numbers = drafter_->numbers.data();
  options.number_count = drafter_->numbers.size();
  options.weights = drafter_->weight_list.data();
  options.weight_count = drafter_->weight_list.size();
  MessageBuffer message;
  PluginAnswer answer =
      message.AnswerOf([&] { return table_.create(&options, &session_, message.get()); });
  if (answer.ok() && session_ == nullptr) {
    return FailedAnswer("contradiction", "create answered OK and gave no session");
  }
  if (!answer.ok()) session_ = nullptr;
  return answer;
}

PluginAnswer HostedSession::Propose(PacketReader& fields, PacketWriter& results) {
  const Blocks blocks(fields, drafter_->drafter_case.config());
  std::vector<std::string> wanted(fields.Count());
  for (std::string& name : wanted) name = fields.Text();
  StageWriter stages(runner_, std::move(wanted), blocks.bands());
  MessageBuffer message;
  PluginAnswer answer = message.AnswerOf([&] {
    return table_.propose(session_, blocks.list(), blocks.count(), stages.sink(), message.get());
  });
  if (!answer.ok()) return answer;
  if (!stages.failure().empty()) return FailedAnswer("contradiction", stages.failure());
  blocks.WriteTo(results);
  stages.WriteTo(results);
  return answer;
}

void HostedSession::Handle(Request request, PacketReader& fields, PacketWriter& reply) {
  PacketWriter results;
  PluginAnswer answer;
  MessageBuffer message;
  if (request == Request::kOpen) {
    answer = Open(fields);
  } else if (session_ == nullptr) {
    answer = FailedAnswer("contradiction", "there is no session");
  } else if (request == Request::kPropose) {
    answer = Propose(fields, results);
  } else {
    const auto band = static_cast<std::uint32_t>(fields.U64());
    if (request == Request::kAppend) {
      const std::vector<std::uint16_t> taps = fields.Array<std::uint16_t>();
      const std::vector<std::int32_t> positions = fields.Array<std::int32_t>();
      answer = message.AnswerOf([&] {
        return table_.append_context(session_, band, taps.data(), positions.data(),
                                     positions.size(), message.get());
      });
    } else if (request == Request::kDrop) {
      const std::uint64_t rows = fields.U64();
      answer =
          message.AnswerOf([&] { return table_.drop_front(session_, band, rows, message.get()); });
    } else {
      answer = message.AnswerOf([&] { return table_.reset(session_, band, message.get()); });
    }
  }
  Write(answer, reply);
  if (answer.ok()) reply.Bytes(results.bytes());
}

}  // namespace draftmark::plugin
