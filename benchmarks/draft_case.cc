#include "benchmarks/draft_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "benchmarks/program_options.h"
#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"
#include "src/cases/case_id.h"
#include "src/config/config_file.h"
#include "src/config/drafter_entry.h"

namespace draftmark {
namespace {

constexpr const char* kCatalogue = "golden/configs/drafter_configs.json";

constexpr std::string_view kDefaultDrafts[] = {
    "z-lab/Qwen3-8B-DFlash-b16,gamma=16,ctx=2048,new=8,nb=1",
    "z-lab/Qwen3-4B-DFlash-b16,gamma=16,ctx=2048,new=8,nb=1",
    "z-lab/Qwen3-8B-DFlash-b16,gamma=16,ctx=32768,new=8,nb=1",
    "z-lab/Qwen3.8-27B-DFlash2 (incoai),gamma=8,ctx=4096,new=8,nb=1",
    "RadixArk/Qwen3.8-27B-DSpark,gamma=7,ctx=4096,new=7,nb=1",
    "z-lab/Qwen3-8B-DFlash-b16,gamma=16,ctx=2048,new=8,nb=8",
};

// Far above what a GPU holds, and products of them fit 64 bits.
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 24;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

StatusOr<std::string> FindEntry(const Json& catalogue, const std::string& source,
                                std::string_view wanted) {
  std::vector<std::string> found;
  for (const std::string& name : DrafterEntryNames(catalogue)) {
    if (name == wanted) return name;
    if (EntryId(name) == LowerCase(wanted)) found.push_back(name);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return NotFoundError(fmt::format("{} has no drafter \"{}\"", source, wanted));
  }
  return InvalidArgumentError(
      fmt::format("\"{}\" may be \"{}\" or \"{}\" of {}; name the owner too", wanted, found[0],
                  found[1], source));
}

Status ReadShape(const CaseKeys& given, DraftShape& shape, bool& new_rows_given) {
  struct Key {
    std::string_view name;
    std::uint64_t least;
    std::uint64_t* value;
  };
  const Key known[] = {{"gamma", 2, &shape.gamma},
                       {"ctx", 0, &shape.context},
                       {"new", 0, &shape.new_rows},
                       {"nb", 1, &shape.bands}};
  for (const auto& [key, value] : given) {
    // With an initialiser, as clang 14 captures no structured binding.
    const auto* const found = std::find_if(std::begin(known), std::end(known),
                                           [&name = key](const Key& k) { return k.name == name; });
    if (found == std::end(known)) {
      return InvalidArgumentError(
          fmt::format("unknown key \"{}\"; expected gamma, ctx, new or nb", key));
    }
    if (value < found->least || value > kMostRows) {
      return InvalidArgumentError(
          fmt::format("{}: expected {} to {}, found {}", key, found->least, kMostRows, value));
    }
    *found->value = value;
    new_rows_given = new_rows_given || key == "new";
  }
  return OkStatus();
}

}  // namespace

std::string EntryId(std::string_view entry) {
  // The owner in front, and a remark behind.
  if (const std::size_t slash = entry.find('/'); slash != std::string_view::npos) {
    entry.remove_prefix(slash + 1);
  }
  entry = entry.substr(0, entry.find(" ("));
  std::string id = LowerCase(entry);
  std::replace(id.begin(), id.end(), ' ', '-');
  return id;
}

StatusOr<DraftCaseOptions> TakeDraftOptions(std::vector<std::string>& arguments) {
  constexpr ProgramOption kOptions[] = {{"--draft", "ENTRY,gamma=N,ctx=N,new=N,nb=N"},
                                        {"--catalogue", "FILE"},
                                        {"--path", "fast or simple"},
                                        {"--samples", "N"},
                                        {"--samples_out", "FILE"}};
  DM_ASSIGN_OR_RETURN(const std::vector<GivenOption> given, TakeOptions(arguments, kOptions));
  DraftCaseOptions options;
  for (const GivenOption& option : given) {
    if (option.name == "--catalogue") {
      options.catalogue = option.value;
    } else if (option.name == "--path") {
      DM_ASSIGN_OR_RETURN(options.fast, ParseChoiceOption(option, "fast", "simple"));
    } else if (option.name == "--samples_out") {
      options.samples_out = option.value;
    } else if (option.name == "--samples") {
      DM_ASSIGN_OR_RETURN(options.samples, ParseNumberOption(option, 1, kMostDraftSamples));
    } else {
      options.drafts.push_back(option.value);
    }
  }
  return options;
}

StatusOr<DraftCase> ParseDraftCase(const Json& catalogue, const std::string& source,
                                   std::string_view text) {
  const std::string option = fmt::format("--draft={}", text);
  const std::size_t comma = text.find(',');
  StatusOr<std::string> entry = FindEntry(catalogue, source, text.substr(0, comma));
  if (!entry.ok()) return entry.status().Annotated(option);
  StatusOr<DrafterEntry> runnable = FindRunnableEntry(catalogue, source, *entry);
  if (!runnable.ok()) return runnable.status().Annotated(option);
  DrafterConfig& config = runnable->config;
  CaseKeys keys;
  if (comma != std::string_view::npos) {
    StatusOr<CaseKeys> given = ParseCaseKeys(text.substr(comma + 1));
    if (!given.ok()) return given.status().Annotated(option);
    keys = *std::move(given);
  }
  DraftShape shape = {.gamma = config.block_size, .context = 2048, .new_rows = 8};
  bool new_rows_given = false;
  const Status read = ReadShape(keys, shape, new_rows_given);
  if (!read.ok()) return read.Annotated(option);
  if (!new_rows_given) shape.new_rows = std::min(shape.new_rows, shape.gamma);
  return MakeDraftCase(EntryId(*entry), std::move(config), shape);
}

DraftCase MakeDraftCase(const std::string& entry_id, DrafterConfig config,
                        const DraftShape& shape) {
  CaseId id;
  id.subject = entry_id;
  id.keys = {
      {"gamma", shape.gamma}, {"ctx", shape.context}, {"new", shape.new_rows}, {"nb", shape.bands}};
  return {.id = id.ToString(), .config = std::move(config), .shape = shape};
}

std::vector<DraftCase> ContextCases(const std::vector<DraftCase>& drafts) {
  std::vector<DraftCase> contexts;
  for (const DraftCase& draft : drafts) {
    // The name in "draft/NAME/...", which has no slash itself.
    const std::size_t begin = draft.id.find('/') + 1;
    const std::string name = draft.id.substr(begin, draft.id.find('/', begin) - begin);
    DraftCase context = MakeDraftCase(
        name, draft.config,
        {.gamma = draft.shape.gamma, .context = 0, .new_rows = kContextBenchmarkRows});
    const bool known = std::any_of(contexts.begin(), contexts.end(),
                                   [&](const DraftCase& other) { return other.id == context.id; });
    if (!known) contexts.push_back(std::move(context));
  }
  return contexts;
}

StatusOr<DrafterCatalogue> LoadDrafterCatalogue(const std::string& path) {
  DrafterCatalogue catalogue = {.path = path};
  if (path.empty()) {
    const std::optional<std::string> found = FindInCheckout(
        kCatalogue,
        [](const std::string& candidate) { return RealFileSystem().IsFile(candidate); });
    if (!found) {
      return NotFoundError(fmt::format(
          "no catalogue of drafters found: run inside a checkout, or give {} with --catalogue FILE",
          kCatalogue));
    }
    catalogue.path = *found;
  }
  DM_ASSIGN_OR_RETURN(catalogue.json, ReadConfigFile(catalogue.path));
  return catalogue;
}

StatusOr<std::vector<DraftCase>> FindDraftCases(const DraftCaseOptions& options) {
  DM_ASSIGN_OR_RETURN(const DrafterCatalogue catalogue, LoadDrafterCatalogue(options.catalogue));
  std::vector<std::string> drafts = options.drafts;
  if (drafts.empty()) drafts.assign(std::begin(kDefaultDrafts), std::end(kDefaultDrafts));
  std::vector<DraftCase> cases;
  for (const std::string& text : drafts) {
    DM_ASSIGN_OR_RETURN(DraftCase parsed, ParseDraftCase(catalogue.json, catalogue.path, text));
    cases.push_back(std::move(parsed));
  }
  return cases;
}

}  // namespace draftmark
