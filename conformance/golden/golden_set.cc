#include "conformance/golden/golden_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/configs/check_configs.h"
#include "conformance/drafts/run_case.h"
#include "conformance/golden/draft_file.h"
#include "conformance/golden/draft_specs.h"
#include "conformance/golden/file_bytes.h"
#include "conformance/sizes/size_rows.h"
#include "src/base/wildcard.h"
#include "src/cases/drafter_case.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

struct Origin {
  std::string_view pattern;  // of paths
  std::string_view generator;
  std::string_view precision;
  std::string_view tolerance;
  std::string_view agreement;
};
// Who made what was imported. Versions of others' programs are not on record.
constexpr std::string_view kOracle =
    "an independent float64 implementation, cut by tools/golden/trim_oracle_case.py";
constexpr Origin kOrigins[] = {
    {"buffer_sizes/*", "an independent sizing implementation, evaluated row by row", "integers",
     "T0", "draftmark verify: every row"},
    {"configs/*", "files of public models, and a catalogue of published drafters", "", "T0",
     "draftmark verify: every field"},
    {"drafter/*/config.json", kOracle, "", "", ""},
    {"drafter/*/model.safetensors", kOracle, "random numbers that BF16 holds exactly", "T0", ""},
    {"drafter/*/golden.safetensors", kOracle, "float64, stored as F32", "T4",
     "float64 reference and the oracle case"},
};

// "drafter/x" of "drafter/x/model.safetensors".
std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

Status RunOracleCase(const DrafterCase& drafter_case) {
  DM_ASSIGN_OR_RETURN(
      const CaseReport report,
      RunDrafterCase(drafter_case, Precision::kExact, kReferenceBackend, OpenReferenceForCase));
  return report.FirstFailure() == nullptr ? OkStatus() : InternalError(ReportText(report));
}

}  // namespace

StatusOr<std::vector<GoldenItem>> GeneratedItems(const std::string& golden,
                                                 FileSystem& file_system) {
  const std::string catalogue_path = JoinPath(golden, "configs/drafter_configs.json");
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(catalogue_path, file_system));
  DM_ASSIGN_OR_RETURN(const Json catalogue, ParseJson(text, catalogue_path));
  std::vector<GoldenItem> items;
  for (const DraftSpec& spec : DraftSpecs()) {
    DM_ASSIGN_OR_RETURN(const OrderedJson config, DraftConfigJson(spec, catalogue, catalogue_path));
    const GoldenFile config_file = MakeDraftConfigFile(spec, config);
    // The id carries the folder's name; a pattern that names it takes both files.
    const std::vector<std::string> cases = {fmt::format("draft/{}", spec.name)};
    items.push_back({config_file.entry.path, cases,
                     [config_file] { return StatusOr<GoldenFile>(config_file); }});
    items.push_back({DraftFolder(spec) + "/golden.safetensors", cases,
                     [&spec, config] { return MakeDraftStagesFile(spec, config); }});
  }
  for (const Operation& operation : AllOperations()) {
    std::vector<std::string> cases;
    for (const OperationCase& c : BoundaryCases(operation)) cases.push_back(c.Id());
    items.push_back({fmt::format("operations/{}.safetensors", operation.name), std::move(cases),
                     [&operation] { return MakeOperationFile(operation); }});
  }
  std::sort(items.begin(), items.end(),
            [](const GoldenItem& a, const GoldenItem& b) { return a.path < b.path; });
  return items;
}

Status ImportedFiles::CheckDrafterCase(const std::string& path, ManifestEntry& entry) {
  const std::string folder = FolderOf(path);
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case,
                      DrafterCase::Load(JoinPath(golden_, folder), file_system_));
  if (!cases_.contains(folder)) cases_.emplace(folder, RunOracleCase(drafter_case));
  DM_RETURN_IF_ERROR(cases_.at(folder));
  if (!path.ends_with("/golden.safetensors")) return OkStatus();
  entry.cases = {drafter_case.id().ToString()};
  entry.inputs_sha256 = DigestOfInputs(drafter_case);
  entry.kept_context_rows = KeptContextRows(drafter_case);
  return OkStatus();
}

Status ImportedFiles::CheckSizeRows(const std::string& path) {
  DM_ASSIGN_OR_RETURN(const RowsReport report, CheckSizeRowsFile(JoinPath(golden_, path)));
  if (report.mismatches.empty()) return OkStatus();
  return InternalError(fmt::format("{}: {}", path, report.mismatches.front().ToString()));
}

Status ImportedFiles::CheckPublishedConfigs() {
  if (configs_) return *configs_;
  configs_ = OkStatus();
  DM_ASSIGN_OR_RETURN(const std::vector<ConfigCheck> checks,
                      CheckConfigs(JoinPath(golden_, "configs")));
  for (const ConfigCheck& check : checks) {
    if (!check.passed()) configs_ = InternalError(check.ToString());
  }
  return *configs_;
}

StatusOr<ManifestEntry> ImportedFiles::Describe(const std::string& path) {
  const auto* const origin =
      std::find_if(std::begin(kOrigins), std::end(kOrigins),
                   [&](const Origin& known) { return Matches(known.pattern, path, {}); });
  if (origin == std::end(kOrigins)) {
    return InvalidArgumentError(fmt::format(
        "{}: no generator makes this file, and nothing is imported there; remove it", path));
  }
  DM_ASSIGN_OR_RETURN(const auto mapped, file_system_.Map(JoinPath(golden_, path)));
  ManifestEntry entry;
  entry.path = path;
  entry.kind = "imported";
  entry.bytes = mapped->bytes().size();
  entry.sha256 = Sha256Hex(mapped->bytes());
  entry.generator = origin->generator;
  entry.precision = origin->precision;
  entry.tolerance = origin->tolerance;
  entry.agreement = origin->agreement;
  if (path.starts_with("drafter/")) DM_RETURN_IF_ERROR(CheckDrafterCase(path, entry));
  if (path.starts_with("buffer_sizes/")) DM_RETURN_IF_ERROR(CheckSizeRows(path));
  if (path.starts_with("configs/")) DM_RETURN_IF_ERROR(CheckPublishedConfigs());
  return entry;
}

bool Matches(std::string_view pattern, std::string_view path,
             const std::vector<std::string>& cases) {
  // A pattern without a star may stand anywhere.
  const std::string glob = pattern.find('*') == std::string_view::npos
                               ? fmt::format("*{}*", pattern)
                               : std::string(pattern);
  return WildcardMatches(glob, path) ||
         std::any_of(cases.begin(), cases.end(),
                     [&](const std::string& id) { return WildcardMatches(glob, id); });
}

}  // namespace draftmark
