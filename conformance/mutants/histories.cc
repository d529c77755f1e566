#include "conformance/mutants/histories.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/check.h"
#include "src/weights/random_drafter.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kWeightSeed = 11;

// What one sequence does in one step.
struct Turn {
  std::uint64_t append = 0;  // rows
  std::size_t width = 5;
  std::uint64_t drop = 0;
  std::int64_t skip = 0;  // positions that have no row, before the appended ones
};

// Taps depend on the sequence and the position only.
CaseStep StepOf(const DrafterConfig& config, std::uint64_t sequence, const Turn& turn,
                std::int64_t& position) {
  CaseStep step;
  step.drop_front_rows = turn.drop;
  step.new_context_rows = turn.append;
  position += turn.skip;
  for (std::uint64_t i = 0; i < turn.append; ++i, ++position) {
    const std::vector<BFloat16> row =
        RandomBf16(sequence * 1000 + static_cast<std::uint64_t>(position), config.tap_width(), 1);
    step.target_hidden.insert(step.target_hidden.end(), row.begin(), row.end());
  }
  step.start = position;
  step.block_tokens.assign(turn.width, static_cast<std::uint32_t>(config.mask_token_id.value()));
  step.block_tokens[0] =
      static_cast<std::uint32_t>((sequence * 7 + static_cast<std::uint64_t>(position)) % 97);
  return step;
}

History Make(std::string name, DrafterConfig config, const std::vector<std::vector<Turn>>& turns) {
  History history;
  history.name = std::move(name);
  history.weights = RandomWeights(config, kWeightSeed);
  history.limits = {.max_batch = turns.size(), .max_context = 70, .ctx_window = 16, .gamma = 2};
  for (std::uint64_t band = 0; band < turns.size(); ++band) {
    std::vector<CaseStep>& steps = history.bands.emplace_back();
    std::int64_t position = 0;
    for (const Turn& turn : turns[band]) {
      history.limits.gamma = std::max<std::uint64_t>(history.limits.gamma, turn.width);
      steps.push_back(StepOf(config, band + 1, turn, position));
    }
  }
  history.config = std::move(config);
  return history;
}

// Activations of the MLP beyond 10, where no clamp belongs.
History LargeActivations() {
  History history = Make("large_activations", HistoryConfig("plain"), {{{.append = 6}}});
  DrafterWeights weights = *history.weights;
  for (LayerWeights& layer : weights.layers) {
    for (Bf16Matrix* const matrix : {&layer.gate_proj, &layer.up_proj}) {
      std::vector<BFloat16> values(matrix->values().begin(), matrix->values().end());
      for (BFloat16& value : values) value = BFloat16::FromDouble(value.ToDouble() * 16);
      *matrix = Bf16Matrix(matrix->rows(), matrix->cols(), std::move(values));
    }
  }
  history.weights = std::make_shared<const DrafterWeights>(std::move(weights));
  return history;
}

}  // namespace

DrafterConfig HistoryConfig(const std::string& kind) {
  DrafterConfig config = SmallDrafterConfig();
  if (kind == "conv") {
    config.kind = DrafterKind::kDflash2;
    config.conv_kernel_size = 2;
    config.conv_group_size = 16;
    config.selector_rank = 8;
    config.selector_top_k = 16;
  } else if (kind == "markov") {
    config.kind = DrafterKind::kDspark;
    config.markov_rank = 8;
    config.markov_head_type = "vanilla";
    config.confidence_head = true;
    config.confidence_head_with_markov = true;
    config.row_convention = RowConvention::kAnchorFirst;
  } else {
    DM_CHECK(kind == "plain");
  }
  return config;
}

History ManyBands() {
  const std::vector<Turn> turns = {{.append = 9, .width = 8}, {.append = 1, .width = 8}};
  return Make("many_bands", HistoryConfig("plain"), std::vector<std::vector<Turn>>(8, turns));
}

StatusOr<std::vector<BlockRequest>> EnterStep(const History& history, std::size_t s,
                                              DraftSession& session) {
  std::vector<BlockRequest> requests;
  for (std::size_t band = 0; band < history.bands.size(); ++band) {
    const CaseStep& step = history.bands[band][s];
    DM_RETURN_IF_ERROR(session.DropFront(band, step.drop_front_rows));
    std::vector<std::int32_t> positions(step.new_context_rows);
    std::iota(
        positions.begin(), positions.end(),
        static_cast<std::int32_t>(step.start - static_cast<std::int64_t>(step.new_context_rows)));
    DM_RETURN_IF_ERROR(session.AppendContext(band, step.target_hidden, positions));
    requests.push_back({band, step.block_tokens, step.start});
  }
  return requests;
}

std::vector<History> Histories() {
  std::vector<History> all;
  // The first band is the shorter one, and the second begins at another position.
  const std::vector<std::vector<Turn>> two_bands = {
      {{.append = 7}, {.append = 2}},
      {{.append = 21, .skip = 4}, {.append = 3}},
  };
  for (const char* const kind : {"plain", "conv", "markov"}) {
    all.push_back(Make(std::string("two_bands_") + kind, HistoryConfig(kind), two_bands));
  }
  // Blocks of eight of which one, two and no draft are accepted.
  all.push_back(Make("rejection", HistoryConfig("plain"),
                     {{{.append = 20, .width = 8},
                       {.append = 2, .width = 8},
                       {.append = 3, .width = 8},
                       {.append = 1, .width = 8}}}));
  all.push_back(Make("window_slide", HistoryConfig("plain"),
                     {{{.append = 30}, {.append = 3, .drop = 19}, {.append = 2, .drop = 1}}}));
  all.push_back(Make("position_gap", HistoryConfig("plain"),
                     {{{.append = 12, .skip = 9}, {.append = 3, .skip = 40}}}));
  DrafterConfig full = HistoryConfig("plain");
  full.layer_types.assign(full.num_hidden_layers, LayerType::kFullAttention);
  full.layer_causal.assign(full.num_hidden_layers, false);
  all.push_back(Make("wide_block", full, {{{.append = 20, .width = 40}}}));
  all.push_back(
      Make("width_change", HistoryConfig("plain"),
           {{{.append = 20, .width = 4}, {.append = 2, .width = 8}, {.append = 2, .width = 4}}}));
  all.push_back(LargeActivations());
  return all;
}

}  // namespace draftmark
