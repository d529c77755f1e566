// Public failures: convolutions, the selector and the Markov head (conformance/README.md).
#include <string>
#include <string_view>
#include <vector>

#include "conformance/public_failures/failure_testing.h"
#include "src/reference/session.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

using enum plain::Mistake;

// Index in a row of coefficients, as it should be and with side and tap exchanged.
std::size_t Transposed(std::size_t index, std::size_t taps, std::size_t groups) {
  const std::size_t side = index / (taps * groups);
  const std::size_t tap = index / groups % taps;
  return (tap * 2 + side) * groups + index % groups;
}

Bf16Matrix TransposedRows(const Bf16Matrix& projection, std::size_t taps) {
  const std::size_t groups = projection.rows() / (2 * taps);
  std::vector<BFloat16> values;
  for (std::size_t row = 0; row < projection.rows(); ++row) {
    const auto from = projection.row(Transposed(row, taps, groups));
    values.insert(values.end(), from.begin(), from.end());
  }
  return Bf16Matrix(projection.rows(), projection.cols(), std::move(values));
}

// The coefficients are right, and read as [tap][side][group]: the same as the right reading of
// coefficients whose rows are exchanged.
StatusOr<std::unique_ptr<DraftSession>> OpenTransposed(const DrafterCase& drafter_case,
                                                       const SessionLimits& limits,
                                                       Precision precision) {
  DM_ASSIGN_OR_RETURN(DrafterWeights weights,
                      LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
  const std::size_t taps = drafter_case.config().conv_kernel_size;
  for (LayerWeights& layer : weights.layers) {
    for (ConvWeights* conv : {&layer.attention_conv, &layer.mlp_conv}) {
      conv->kernel_projection = TransposedRows(conv->kernel_projection, taps);
    }
  }
  return reference::OpenReferenceSession(drafter_case.config(),
                                         std::make_shared<const DrafterWeights>(std::move(weights)),
                                         limits, precision);
}

TEST(PublicFailures, ConvIndexTransposed) {
  const OpenSession transposed = OpenHooked(
      [](const DrafterCase& drafter_case) {
        const std::size_t taps = drafter_case.config().conv_kernel_size;
        const std::size_t groups =
            drafter_case.config().hidden_size / drafter_case.config().conv_group_size;
        return SessionHooks{.stage = [=](std::string_view stage, std::vector<double>& values) {
          if (!stage.ends_with("_conv.dynamic")) return;
          const std::vector<double> exchanged = values;
          const std::size_t row = 2 * taps * groups;
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i - i % row + Transposed(i % row, taps, groups)] = exchanged[i];
          }
        }};
      },
      OpenTransposed);
  ExpectCaught(WithSteps(SmallDflash2(), {Step(20, 20)}), transposed,
               "step0.layers.0.attention_conv.prepare");
}

TEST(PublicFailures, ConvAcrossBands) {
  OrderedJson draft = WithSteps(SmallDflash2(), {Step(20, 20)});
  draft["neighbours"] = OrderedJson::array({OrderedJson::array({Step(23, 23)})});
  draft["band"] = 1;
  ExpectCaught(draft, OpenMistaken({kConvCrossesBands}), "step0.layers.0.attention_conv.prepare");
  draft["band"] = 0;
  ExpectPasses(draft, OpenMistaken({kConvCrossesBands}));
}

TEST(PublicFailures, ConvOnATruncatedWindow) {
  // Only the second half of each band's rows was at hand: its first row reads zeros in place of the
  // row before.
  const RunOperation truncated = [](const OperationCase& c,
                                    const OperandSet& in) -> StatusOr<OperandValues> {
    ShapeValues values;
    for (const auto& [key, value] : c.keys.values()) {
      values.push_back(key == "band" ? value / 2 : value);
    }
    DM_ASSIGN_OR_RETURN(const OperationCase half, MakeCase(*c.operation, values));
    return c.operation->reference(half, in, Precision::kBf16);
  };
  ExpectOperationCaught("op/conv_prepare/rows=16,h=64,taps=2,group=16,band=8/bf16", truncated,
                        "out");
  ExpectOperationCaught("op/conv_finish/rows=16,h=64,taps=2,group=16,band=8/bf16", truncated,
                        "out");
  // In a draft: no state crosses blocks either, and none is missing at a block's first row.
  ExpectCaught(WithSteps(SmallDflash2(), {Step(20, 20), Step(3, 23)}),
               OpenMistaken({kConvCrossesBlocks}), "step1.layers.0.attention_conv.prepare");
}

TEST(PublicFailures, SelectorPredecessorWrong) {
  const OrderedJson draft = WithSteps(SmallDflash2(), {Step(20, 20)});
  // The anchor for every row; the codebooks exchanged.
  ExpectCaught(draft, OpenMistaken({kSelectorPrevAnchor}), "step0.selector.scores");
  ExpectCaught(draft, OpenMistaken({kSelectorSwapped}), "step0.selector.scores");
  // None at all, which shows in what is chosen from scores that are right.
  EXPECT_EQ(SignatureOf(draft, Precision::kBf16, OpenMistaken({kSelectorIndependent})),
            "step0.draft_tokens: own choice");
}

TEST(PublicFailures, MarkovStepReadsIdsBeforeTheyAreFinal) {
  const OrderedJson draft = WithSteps(SmallDspark(), {Step(20, 20)});
  // What the ids' buffer holds before the step that writes it: the argmax without the bias, or the
  // anchor of the whole block.
  ExpectCaught(draft, OpenMistaken({kMarkovPrevUnbiased}), "step0.markov.logits");
  ExpectCaught(draft, OpenMistaken({kMarkovPrevAnchor}), "step0.markov.logits");
}

}  // namespace
}  // namespace draftmark
