#include "kernels/draft/draft_weights.h"

#include <fmt/format.h>

#include <map>
#include <span>
#include <utility>

#include "kernels/draft/generate_values.h"
#include "kernels/draft/weight_names.h"
#include "src/base/catch_exhausted.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

constexpr std::string_view kLmHead = "lm_head.weight";

std::uint64_t ElementCount(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

class HostSource final : public WeightSource {
 public:
  explicit HostSource(const DrafterWeights& weights) {
    ForEachWeight(weights, [&](const std::string& name, const Bf16Matrix& matrix) {
      tensors_[name] = matrix.values();
    });
    // A tied head is the embedding itself.
    if (weights.lm_head.values().data() == weights.embed.values().data()) {
      tensors_.erase(std::string(kLmHead));
    }
  }
  std::uint64_t Elements(const std::string& name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? 0 : found->second.size();
  }
  Status Fill(const std::string& name, BFloat16* target, cudaStream_t stream) const override {
    return CopyToDevice({target}, std::as_bytes(tensors_.at(name)), stream);
  }

 private:
  std::map<std::string, std::span<const BFloat16>> tensors_;
};

class GeneratedSource final : public WeightSource {
 public:
  GeneratedSource(const DrafterConfig& config, const DataGenerator& generator)
      : generator_(generator) {
    for (GeneratedTensor& tensor : GeneratedTensors(config, generator)) {
      const std::string name = tensor.name;
      tensors_[name] = std::move(tensor);
    }
  }
  std::uint64_t Elements(const std::string& name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? 0 : ElementCount(found->second.shape);
  }
  Status Fill(const std::string& name, BFloat16* target, cudaStream_t stream) const override {
    const GeneratedTensor& tensor = tensors_.at(name);
    return LaunchGenerateValues({.seed = SeedOfTensor(generator_, name),
                                 .offset = tensor.offset,
                                 .scale = tensor.scale,
                                 .out = target,
                                 .count = static_cast<std::int64_t>(ElementCount(tensor.shape))},
                                stream);
  }

 private:
  const DataGenerator generator_;
  std::map<std::string, GeneratedTensor> tensors_;
};

}  // namespace

class DraftWeights::Builder {
 public:
  Builder(const DrafterConfig& config, const WeightSource& source, Allocator& allocator,
          cudaStream_t stream)
      : config_(config), source_(source), allocator_(allocator), stream_(stream) {}

  StatusOr<std::shared_ptr<const DraftWeights>> Build() {
    DeviceWeights& w = made_->weights_;
    for (const GeneratedTensor& tensor :
         GeneratedTensors(config_, {.seed = 0, .sinks = true, .mask_embedding = true})) {
      expected_[tensor.name] = ElementCount(tensor.shape);
    }
    w.layers.resize(config_.num_hidden_layers);
    DM_RETURN_IF_ERROR(PlaceFused());
    Status status;
    ForEachWeight(w, [&](const std::string& name, DeviceMatrix& member) {
      if (status.ok()) status = Place(name, member).Annotated("weights");
    });
    DM_RETURN_IF_ERROR(status);
    if (w.lm_head == nullptr) w.lm_head = w.embed;
    w.markov.type = w.markov.gate_proj != nullptr    ? MarkovType::kGated
                    : w.markov.joint_proj != nullptr ? MarkovType::kRnn
                                                     : MarkovType::kVanilla;
    made_->present_ = {.markov = w.markov.w1 != nullptr,
                       .confidence = w.confidence.proj != nullptr,
                       .convs = config_.conv_kernel_size > 0,
                       .selector = w.selector.predecessor != nullptr};
    DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"));
    return std::shared_ptr<const DraftWeights>(std::move(made_));
  }

 private:
  StatusOr<BFloat16*> Allocate(const std::string& name, std::uint64_t elements) {
    const std::string tag = "weights/" + name;
    DM_ASSIGN_OR_RETURN(DeviceBuffer memory,
                        DeviceBuffer::Create(allocator_, {.bytes = elements * sizeof(BFloat16),
                                                          .alignment = kDeviceAlignment,
                                                          .tag = tag}));
    made_->bytes_ += memory.bytes();
    made_->memory_.push_back(std::move(memory));
    return made_->memory_.back().As<BFloat16>();
  }

  // Room for the q, k and v projections of all layers together; Place fills it.
  Status PlaceFused() {
    DeviceWeights& w = made_->weights_;
    const std::uint64_t h = config_.hidden_size;
    const std::uint64_t layers = config_.num_hidden_layers;
    const std::uint64_t q_dim = config_.q_dim(), kv_dim = config_.kv_dim();
    const std::uint64_t rows = q_dim + 2 * kv_dim;  // of a layer
    DM_ASSIGN_OR_RETURN(BFloat16* const fused, Allocate("fused_qkv", layers * rows * h));
    w.fused_kv = fused + q_dim * h;
    w.fused_kv_step = static_cast<std::int64_t>(rows * h);
    BFloat16* bias = nullptr;
    if (config_.attention_bias) {
      DM_ASSIGN_OR_RETURN(bias, Allocate("fused_kv_bias", layers * 2 * kv_dim));
      w.fused_kv_bias = bias;
    }
    for (std::uint64_t l = 0; l < layers; ++l) {
      const std::string attention = fmt::format("layers.{}.self_attn.", l);
      const auto view = [&](const char* name, std::uint64_t row) {
        views_[attention + name + ".weight"] = fused + (l * rows + row) * h;
      };
      view("q_proj", 0);
      view("k_proj", q_dim);
      view("v_proj", q_dim + kv_dim);
      if (bias == nullptr) continue;
      views_[attention + "k_proj.bias"] = bias + 2 * l * kv_dim;
      views_[attention + "v_proj.bias"] = bias + (2 * l + 1) * kv_dim;
    }
    return OkStatus();
  }

  // Tensors that a drafter of any kind has: without one, its place in a kernel would be null, or
  // filled with whatever was there.
  bool Required(const std::string& name) const {
    return (name.starts_with("layers.") && !name.ends_with("sinks")) || name == "fc.weight" ||
           name == "hidden_norm.weight" || name == "norm.weight" || name == "embed_tokens.weight";
  }

  Status Place(const std::string& name, DeviceMatrix& member) {
    const std::uint64_t elements = source_.Elements(name);
    const auto found = expected_.find(name);
    const std::uint64_t expected = found == expected_.end() ? 0 : found->second;
    if (elements == 0 && !(expected > 0 && Required(name))) return OkStatus();
    if (elements != expected) {
      return InvalidArgumentError(
          fmt::format("tensor {}: expected {} elements, found {}", name, expected, elements));
    }
    BFloat16* target = nullptr;
    if (const auto view = views_.find(name); view != views_.end()) {
      target = view->second;
    } else {
      DM_ASSIGN_OR_RETURN(target, Allocate(name, elements));
    }
    member = target;
    return source_.Fill(name, target, stream_);
  }

  const DrafterConfig& config_;
  const WeightSource& source_;
  Allocator& allocator_;
  const cudaStream_t stream_;
  std::map<std::string, BFloat16*> views_;         // into fused_qkv and fused_kv_bias
  std::map<std::string, std::uint64_t> expected_;  // elements by name
  std::shared_ptr<DraftWeights> made_ = std::make_shared<DraftWeights>();
};

StatusOr<std::shared_ptr<const DraftWeights>> DraftWeights::Upload(const DrafterConfig& config,
                                                                   const DrafterWeights& weights,
                                                                   Allocator& allocator,
                                                                   cudaStream_t stream) {
  return CatchExhausted(
      "weights", [&] { return Builder(config, HostSource(weights), allocator, stream).Build(); });
}

StatusOr<std::shared_ptr<const DraftWeights>> DraftWeights::Generate(const DrafterConfig& config,
                                                                     const DataGenerator& generator,
                                                                     Allocator& allocator,
                                                                     cudaStream_t stream) {
  return CatchExhausted("weights", [&] {
    return Builder(config, GeneratedSource(config, generator), allocator, stream).Build();
  });
}

}  // namespace draftmark::kernels
