// Public failures: graphs, batches, number formats and long runs (conformance/README.md).
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/public_failures/failure_testing.h"

namespace draftmark {
namespace {

using enum plain::Mistake;

TEST(PublicFailures, GraphReplayWithStaleArguments) {
  const OrderedJson draft = WithSteps(SmallDraft(), {Step(20, 20), Step(3, 23)});
  // The kernels see the arguments of the step before, whoever watches.
  ExpectCaught(draft, OpenMistaken({kStaleKvLength}), "step1.layers.0.attn_out");
  ExpectCaught(draft, OpenMistaken({kBlockPositionStale}), "step1.layers.0.k_new");
  // Only the graph that runs when nobody does keeps those it was captured with.
  const OpenSession stale_graph = OpenHooked([](const DrafterCase&) {
    const auto captured = std::make_shared<std::map<std::size_t, std::int64_t>>();
    return SessionHooks{.propose = [=](std::vector<BlockRequest>& requests, bool seen) {
      if (seen) return;
      for (BlockRequest& request : requests) {
        const auto [first, is_new] = captured->emplace(request.band, request.start);
        // No earlier than its context: a session refuses that, a graph does not ask.
        if (!is_new) request.start += 400 + first->second;
      }
    }};
  });
  OrderedJson replayed = draft;
  ExpectPasses(replayed, stale_graph);
  replayed["replay"] = true;
  ExpectCaught(replayed, stale_graph, "step1.draft_tokens");
}

// Sequence s of a full batch: contexts of different lengths.
OrderedJson Batch(std::size_t sequences) {
  const auto steps = [](std::size_t s) {
    return std::vector<OrderedJson>{Step(10 + s, 10 + s), Step(2 + s % 4, 12 + s + s % 4)};
  };
  OrderedJson draft = WithSteps(SmallDraft(), steps(sequences - 1));
  for (std::size_t s = 0; s + 1 < sequences; ++s) draft["neighbours"].push_back(steps(s));
  draft["band"] = sequences - 1;
  draft["replay"] = true;
  return draft;
}

TEST(PublicFailures, AcceptanceCollapseAtSixteenSequences) {
  // From 16 on a record of arguments is that of another sequence.
  const OpenSession fifteen_records = OpenHooked([](const DrafterCase&) {
    return SessionHooks{.propose = [](std::vector<BlockRequest>& requests, bool) {
      constexpr std::size_t kRecords = 15;
      for (std::size_t b = kRecords; b < requests.size(); ++b) {
        // Another position; no lower one, which a session would refuse.
        requests[b].start += requests[b % kRecords].start;
      }
    }};
  });
  ExpectCaught(Batch(16), fifteen_records, "step0.layers.0.k_new");
  ExpectPasses(Batch(15), fifteen_records);
}

TEST(PublicFailures, Fp16OverflowInTapFusion) {
  const OpenSession fp16 = OpenHooked([](const DrafterCase&) {
    return SessionHooks{.stage = [](std::string_view stage, std::vector<double>& values) {
      if (stage != "fc") return;
      constexpr double kLargestFp16 = 65504;
      for (double& value : values) {
        if (std::abs(value) > kLargestFp16) value = std::copysign(INFINITY, value);
      }
    }};
  });
  const OrderedJson draft = WithSteps(SmallDraft(), {Step(20, 20)});
  const OrderedJson outliers = With(draft, {{"generator", {{"tap_scale", 0x1p18}}}});
  ExpectCaught(outliers, fp16, "step0.fc");
  // Ordinary taps hide it.
  ExpectPasses(draft, fp16);
  // The fusion alone, on data as large as it may be.
  ExpectOperationCaught(
      "op/linear/rows=16,n=128,k=128,bias=0,cap=0/bf16/largest",
      [](const OperationCase& c, const OperandSet& in) -> StatusOr<OperandValues> {
        OperandValues got = c.operation->reference(c, in, Precision::kBf16);
        for (double& y : got["y"]) {
          if (std::abs(y) > 65504) y = std::copysign(INFINITY, y);
        }
        return got;
      },
      "y");
}

}  // namespace
}  // namespace draftmark
