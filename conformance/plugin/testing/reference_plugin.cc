// The reference as a plug-in: every operation and draft sessions, so that tests see that the
// interface carries all that a backend needs. What it gets is checked on the way.
//
// DRAFTMARK_TEST_FAULT in the environment makes it wrong: "stage:NAME" doubles a stage's last
// value, "missing:NAME" leaves it out, "dtype:NAME" and "memory:NAME" say nonsense of it,
// "twice:NAME" emits it twice, "band:NAME" for a band that is not there. "crash", "hang", "tokens"
// (none written), "vocabulary" (a token as great as its size) and "late" (unsupported) happen in
// the second propose, "refuse" in create; with "elsewhere" the process goes to another folder.
// Failures in public (conformance/README.md): "other bands" have no context, "no reset", "rows cut
// at 8192" in one append, "unwatched" proposes on another anchor, "fp16" fc beyond 65504.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/plugin/draftmark_plugin.h"
#include "src/base/test_folder.h"
#include "src/operations/registry.h"
#include "src/reference/session.h"
#include "src/tensor/safetensors.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {
namespace {

std::string Fault() {
  const char* const fault = std::getenv("DRAFTMARK_TEST_FAULT");
  return fault == nullptr ? "" : fault;
}

draftmark_result Answer(draftmark_message* message, const Status& status) {
  if (status.ok()) return DRAFTMARK_OK;
  return draftmark_answer(
      message,
      status.code() == StatusCode::kUnimplemented ? DRAFTMARK_UNSUPPORTED : DRAFTMARK_FAILED,
      status.ToString().c_str());
}

DType DTypeOf(draftmark_dtype dtype) {
  switch (dtype) {
    case DRAFTMARK_BF16:
      return DType::kBF16;
    case DRAFTMARK_F32:
      return DType::kF32;
    case DRAFTMARK_I32:
      return DType::kI32;
    case DRAFTMARK_U32:
      return DType::kU32;
    default:
      return DType::kI64;
  }
}

template <typename T, typename Convert>
void Store(const std::vector<double>& values, void* data, const Convert& convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = convert(values[i]);
    std::memcpy(static_cast<std::byte*>(data) + i * sizeof(T), &value, sizeof(T));
  }
}

void Store(DType dtype, const std::vector<double>& values, void* data) {
  const auto narrowed = [&]<typename T>(T) {
    Store<T>(values, data, [](double value) { return static_cast<T>(value); });
  };
  switch (dtype) {
    case DType::kBF16:
      return Store<BFloat16>(values, data, [](double v) { return BFloat16::FromDouble(v); });
    case DType::kF32:
      return narrowed(float());
    case DType::kU32:
      return narrowed(std::uint32_t());
    default:
      return narrowed(std::int64_t());
  }
}

// Whether what came is what the declaration says.
Status CheckOperand(const draftmark_operand& got, const Operand& expected) {
  const Shape shape(got.shape, got.shape + got.rank);
  Shape strides(got.rank, 1);
  for (std::size_t i = got.rank; i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  const int role = expected.role == OperandRole::kInput    ? DRAFTMARK_INPUT
                   : expected.role == OperandRole::kOutput ? DRAFTMARK_OUTPUT
                                                           : DRAFTMARK_INOUT;
  if (got.name != expected.name || DTypeOf(got.dtype) != expected.dtype || got.role != role ||
      shape != expected.shape || !std::equal(strides.begin(), strides.end(), got.strides) ||
      got.bytes != expected.bytes.size() || reinterpret_cast<std::uintptr_t>(got.data) % 256 != 0) {
    return InternalError(fmt::format("operand {} is not as declared", got.name));
  }
  return OkStatus();
}

Status CheckNumbers(const draftmark_call& call, const OperationCase& c) {
  std::uint64_t at = 0;
  const auto is_next = [&](std::string_view name, double value) {
    const draftmark_number& number = call.numbers[at++];
    return number.name == name && number.value == value;
  };
  bool good = call.number_count == c.keys.values().size() + c.operation->attributes.size();
  for (const auto& [name, value] : c.keys.values()) {
    good = good && is_next(name, static_cast<double>(value));
  }
  for (const Attribute& attribute : c.operation->attributes) {
    good = good && is_next(attribute.name, attribute.value);
  }
  return good ? OkStatus() : InternalError("the numbers are not those of the case");
}

Status RunReference(const draftmark_call& call) {
  DM_ASSIGN_OR_RETURN(const OperationCase c, FindCase(call.case_id));
  if (c.operation->name != call.operation) return InternalError("operation and case differ");
  DM_RETURN_IF_ERROR(CheckNumbers(call, c));
  DM_ASSIGN_OR_RETURN(const OperandSet operands, MakeOperands(c));
  if (call.operand_count != operands.operands().size()) return InternalError("operand count");
  for (std::uint32_t i = 0; i < call.operand_count; ++i) {
    const draftmark_operand& got = *call.operands[i];
    DM_RETURN_IF_ERROR(CheckOperand(got, operands.operands()[i]));
    // Bit for bit what is drawn for the case, outputs poisoned.
    if (!std::ranges::equal(std::span(static_cast<const std::byte*>(got.data), got.bytes),
                            operands.operands()[i].bytes)) {
      return InternalError(fmt::format("operand {} holds other bytes", got.name));
    }
  }
  for (const auto& [name, values] : c.operation->reference(c, operands, Precision::kBf16)) {
    Store(operands.Get(name).dtype, values, draftmark_find_operand(&call, name.c_str())->data);
  }
  return OkStatus();
}

draftmark_result Query(const draftmark_call* call, std::uint64_t* workspace_bytes,
                       draftmark_message* message) {
  *workspace_bytes = 1000;
  const StatusOr<OperationCase> c = FindCase(call->case_id);
  return Answer(message, c.ok() ? CheckNumbers(*call, *c) : c.status());
}

draftmark_result Run(const draftmark_call* call, draftmark_message* message) {
  if (call->workspace_bytes != 1000) return DRAFTMARK_FAILED;
  std::memset(call->workspace, 0, call->workspace_bytes);
  return Answer(message, RunReference(*call));
}

class EmittingSink final : public StageSink {
 public:
  explicit EmittingSink(const draftmark_stage_sink& sink) : sink_(sink), fault_(Fault()) {}
  bool Wants(std::string_view name) const override {
    return sink_.wants(sink_.context, std::string(name).c_str()) != 0;
  }
  void OnStage(const StageValue& stage) override {
    const std::string name(stage.name);
    if (fault_ == "missing:" + name) return;
    std::vector<double> values(stage.values.begin(), stage.values.end());
    if (fault_ == "stage:" + name) values.back() *= 2;
    for (double& value : values) {
      if (fault_ == "fp16" && name == "fc" && std::abs(value) > 65504) value *= INFINITY;
    }
    const std::uint32_t elsewhere = fault_ == "band:" + name ? 7 : 0;
    const draftmark_stage emitted = {
        .struct_size = sizeof(draftmark_stage),
        .band = static_cast<std::uint32_t>(stage.band) + elsewhere,
        .name = name.c_str(),
        .dtype = fault_ == "dtype:" + name ? 99 : DRAFTMARK_F64,
        .memory = fault_ == "memory:" + name ? DRAFTMARK_CUDA : DRAFTMARK_CPU,
        .rank = static_cast<std::uint32_t>(stage.shape.size()),
        .reserved = 0,
        .shape = stage.shape.data(),
        .data = values.data()};
    sink_.emit(sink_.context, &emitted);
    if (fault_ == "twice:" + name) sink_.emit(sink_.context, &emitted);
  }

 private:
  const draftmark_stage_sink& sink_;
  const std::string fault_;
};

struct Session {
  TestFolder folder;  // of the checkpoint, which is mapped
  DrafterConfig config;
  std::unique_ptr<DraftSession> session;
  int proposes = 0;
};

// The weights, through a file as checkpoints come.
StatusOr<DrafterWeights> WeightsOf(const draftmark_session_options& options,
                                   const DrafterConfig& config, const std::string& file) {
  SafetensorsWriter writer;
  for (std::uint64_t i = 0; i < options.weight_count; ++i) {
    const draftmark_weight& weight = *options.weights[i];
    DM_RETURN_IF_ERROR(
        writer.Add(weight.name, {DTypeOf(weight.dtype),
                                 Shape(weight.shape, weight.shape + weight.rank),
                                 {static_cast<const std::byte*>(weight.data), weight.bytes}}));
  }
  DM_RETURN_IF_ERROR(writer.Write(file));
  DM_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(file));
  return LoadDrafterWeights(config, std::make_shared<const Checkpoint>(std::move(checkpoint)));
}

StatusOr<std::unique_ptr<Session>> Open(const draftmark_session_options& options) {
  if (Fault() == "refuse") return UnimplementedError("no drafts today");
  auto opened = std::make_unique<Session>();
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(options.config, "config"));
  DM_ASSIGN_OR_RETURN(opened->config, ParseDrafterConfig(json, "config"));
  const auto number = [&](const char* name) {
    return draftmark_find_number(options.numbers, options.number_count, name, -1);
  };
  if (number("hidden_size") != static_cast<double>(opened->config.hidden_size) ||
      number("layers.0.causal") != opened->config.layer_causal.at(0) || number("rope.pairs") < 1) {
    return InternalError("the numbers are not those of the config");
  }
  DM_ASSIGN_OR_RETURN(DrafterWeights weights,
                      WeightsOf(options, opened->config, opened->folder.Path("model.safetensors")));
  DM_ASSIGN_OR_RETURN(
      opened->session,
      reference::OpenReferenceSession(opened->config,
                                      std::make_shared<const DrafterWeights>(std::move(weights)),
                                      {.max_batch = options.max_batch,
                                       .max_context = options.max_context,
                                       .ctx_window = options.ctx_window,
                                       .gamma = options.gamma},
                                      Precision::kBf16));
  return opened;
}

draftmark_result Create(const draftmark_session_options* options, void** session,
                        draftmark_message* message) {
  StatusOr<std::unique_ptr<Session>> opened = Open(*options);
  if (opened.ok()) *session = opened->release();
  return Answer(message, opened.status());
}

Session& Of(void* session) { return *static_cast<Session*>(session); }

draftmark_result Append(void* session, std::uint32_t band, const std::uint16_t* taps,
                        const std::int32_t* positions, std::uint64_t rows,
                        draftmark_message* message) {
  if (Fault() == "rows cut at 8192") rows = std::min<std::uint64_t>(rows, 8192);
  if (Fault() == "other bands" && band > 0) rows = 0;
  std::vector<BFloat16> values(rows * Of(session).config.tap_width());
  if (!values.empty()) {
    std::memcpy(static_cast<void*>(values.data()), taps, values.size() * sizeof(BFloat16));
  }
  return Answer(message, Of(session).session->AppendContext(band, values, {positions, rows}));
}

draftmark_result Drop(void* session, std::uint32_t band, std::uint64_t rows,
                      draftmark_message* message) {
  return Answer(message, Of(session).session->DropFront(band, rows));
}

draftmark_result Reset(void* session, std::uint32_t band, draftmark_message* message) {
  return Fault() == "no reset" ? DRAFTMARK_OK : Answer(message, Of(session).session->Reset(band));
}

draftmark_result Propose(void* session, const draftmark_block* const* blocks,
                         std::uint32_t block_count, const draftmark_stage_sink* sink,
                         draftmark_message* message) {
  const std::string fault = ++Of(session).proposes == 2 ? Fault() : "";
  if (fault == "crash") ::raise(SIGSEGV);
  while (fault == "hang") ::pause();
  if (fault == "late") return draftmark_answer(message, DRAFTMARK_UNSUPPORTED, "too late");
  std::vector<BlockRequest> requests;
  for (std::uint32_t i = 0; i < block_count; ++i) {
    const draftmark_block& block = *blocks[i];
    requests.push_back({block.band, {block.tokens, block.tokens + block.width}, block.start});
  }
  if (Fault() == "unwatched" && !sink->wants(sink->context, "logits")) requests[0].tokens[0] = 0;
  EmittingSink emitting(*sink);
  const auto results = Of(session).session->Propose(requests, &emitting);
  if (!results.ok()) return Answer(message, results.status());
  for (std::uint32_t i = 0; i < block_count && fault != "tokens"; ++i) {
    const BlockResult& result = (*results)[i];
    if (result.draft_tokens.size() != blocks[i]->draft_count) return DRAFTMARK_FAILED;
    std::copy(result.draft_tokens.begin(), result.draft_tokens.end(), blocks[i]->draft_tokens);
    if (fault == "vocabulary") {
      blocks[i]->draft_tokens[0] = static_cast<std::uint32_t>(Of(session).config.vocab_size);
    }
    std::copy(result.margin.begin(), result.margin.end(), blocks[i]->margins);
    std::copy(result.confidence.begin(), result.confidence.end(), blocks[i]->confidences);
  }
  return DRAFTMARK_OK;
}

void Destroy(void* session) { delete &Of(session); }

}  // namespace
}  // namespace draftmark

const draftmark_plugin* draftmark_plugin_entry(std::uint32_t /*host_abi*/) {
  using draftmark::Operation;
  if (draftmark::Fault() == "elsewhere" && ::chdir("/") != 0) return nullptr;
  static std::vector<draftmark_operation> table;
  static std::vector<const draftmark_operation*> operations;
  static const draftmark_session_table session = {sizeof(draftmark_session_table),
                                                  0,
                                                  draftmark::Create,
                                                  draftmark::Append,
                                                  draftmark::Drop,
                                                  draftmark::Reset,
                                                  draftmark::Propose,
                                                  draftmark::Destroy};
  for (const Operation& operation : draftmark::AllOperations()) {
    table.push_back({sizeof(draftmark_operation), 0, operation.name.data(),
                     DRAFTMARK_DTYPE_BIT(DRAFTMARK_I64 + 1) - 2, nullptr, draftmark::Query,
                     draftmark::Run});
  }
  operations.reserve(table.size());
  for (const draftmark_operation& operation : table) operations.push_back(&operation);
  static const draftmark_plugin plugin = {sizeof(draftmark_plugin),
                                          DRAFTMARK_PLUGIN_ABI,
                                          "reference",
                                          "1",
                                          DRAFTMARK_CPU,
                                          static_cast<std::uint32_t>(operations.size()),
                                          operations.data(),
                                          nullptr,
                                          0,
                                          0,
                                          &session};
  return &plugin;
}
