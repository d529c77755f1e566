// For tests of public failures: small drafts, and whether an implementation that fails in public is
// caught where it should be. See conformance/README.md for the list.
#ifndef DRAFTMARK_CONFORMANCE_PUBLIC_FAILURES_FAILURE_TESTING_H_
#define DRAFTMARK_CONFORMANCE_PUBLIC_FAILURES_FAILURE_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/operations/check_operation.h"
#include "conformance/public_failures/mistaken_session.h"
#include "conformance/random/build_case.h"
#include "src/base/json.h"
#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark {

// A DFlash drafter of two layers, the first with a window of 9 and the second full, no causality
// key, convention A; blocks of 8. No steps yet.
inline OrderedJson SmallDraft() {
  return {{"kind", "synthetic"},
          {"hidden_size", 48},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 6},
          {"num_key_value_heads", 2},
          {"head_dim", 16},
          {"intermediate_size", 80},
          {"vocab_size", 101},
          {"mask_token_id", 100},
          {"block_size", 8},
          {"target_layer_ids", {1, 2, 3}},
          {"rms_norm_eps", 1e-6},
          {"layer_types", {"sliding_attention", "full_attention"}},
          {"sliding_window", 9},
          {"rope", {{"theta", 10000.0}, {"type", "default"}}},
          {"row_convention", "A"},
          {"sample_from_anchor", false},
          {"generator", {{"name", "draftmark"}, {"version", 1}, {"seed", 5}}},
          {"steps", OrderedJson::array()}};
}

inline OrderedJson With(OrderedJson config, const OrderedJson& change) {
  config.merge_patch(change);
  return config;
}

inline OrderedJson SmallDflash2() {
  return With(SmallDraft(), {{"conv_kernel_size", 2},
                             {"conv_group_size", 16},
                             {"selector_rank", 16},
                             {"selector_top_k", 16}});
}
inline OrderedJson SmallDspark() {
  return With(SmallDraft(), {{"markov_rank", 16},
                             {"markov_head_type", "vanilla"},
                             {"confidence_head", true},
                             {"confidence_head_with_markov", true},
                             {"row_convention", "B"},
                             {"sample_from_anchor", true}});
}

inline OrderedJson Step(std::uint64_t rows, std::uint64_t start, const OrderedJson& more = {}) {
  OrderedJson step = {{"new_context_rows", rows}, {"start", start}, {"anchor", 7 + rows % 11}};
  if (!more.is_null()) step.update(more);
  return step;
}
inline OrderedJson WithSteps(OrderedJson config, std::vector<OrderedJson> steps) {
  config["steps"] = std::move(steps);
  return config;
}

// "" if it passes, else the first stage that is off and how ("step0.fc: own stages"), or an error.
inline std::string SignatureOf(const OrderedJson& config, Precision precision,
                               const OpenSession& open) {
  MemoryFileSystem files;
  const StatusOr<DrafterCase> made = BuildCase(config, "case", files);
  if (!made.ok()) return made.status().ToString();
  const StatusOr<CaseReport> report = RunDrafterCase(*made, precision, kReferenceBackend, open);
  return report.ok() ? report->Signature() : report.status().ToString();
}

// The reference passes this draft, and `failing` is off at `stage` first, in both precisions.
inline void ExpectCaught(const OrderedJson& config, const OpenSession& failing,
                         const std::string& stage) {
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    SCOPED_TRACE(PrecisionName(precision));
    EXPECT_EQ(SignatureOf(config, precision, OpenReferenceForCase), "");
    const std::string signature = SignatureOf(config, precision, failing);
    EXPECT_EQ(signature.substr(0, signature.find(':')), stage) << signature;
  }
}
// It is right where the failure does not show: so what is caught elsewhere is the failure itself.
inline void ExpectPasses(const OrderedJson& config, const OpenSession& open) {
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    EXPECT_EQ(SignatureOf(config, precision, open), "") << PrecisionName(precision);
  }
}

// The same for one operation: what `failing` makes of the reference's operands or results.
inline void ExpectOperationCaught(const std::string& id, const RunOperation& failing,
                                  const std::string& output) {
  SCOPED_TRACE(id);
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c, FindCase(id));
  DM_ASSERT_OK_AND_ASSIGN(const OperationReport sound, CheckReference(c, Precision::kBf16));
  EXPECT_TRUE(sound.passed()) << ReportText(sound);
  DM_ASSERT_OK_AND_ASSIGN(
      const OperationReport report,
      CheckOperation(c, Precision::kBf16, "failing", SumType::kFloat32, failing));
  EXPECT_EQ(report.Signature(), output + ": bound") << ReportText(report);
}

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_PUBLIC_FAILURES_FAILURE_TESTING_H_
