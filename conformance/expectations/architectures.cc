#include "conformance/expectations/architectures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "conformance/expectations/expectations.h"
#include "src/base/find_in_checkout.h"
#include "src/base/json.h"
#include "src/operations/registry.h"
#include "tools/cuda/built_archs.h"

namespace draftmark {
namespace {

constexpr std::string_view kDraft = "draft";

// 90 of "sm_90" and of "sm_90a".
std::optional<int> NumberOf(std::string_view architecture) {
  const std::size_t underscore = architecture.find('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  const char* const begin = architecture.data() + underscore + 1;
  const char* const end = architecture.data() + architecture.size();
  int number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || end - stop > 1) return std::nullopt;
  // No sign and no leading zeros, which would make another name of the same one.
  constexpr int kLeast = 10;
  if (number < kLeast || std::string_view(begin, stop) != std::to_string(number))
    return std::nullopt;
  return number;
}

// What a result says of an operation: how often it was judged.
struct Judged {
  std::string file;
  std::uint64_t runs = 0;
};
using AllJudged = std::map<std::pair<std::string, std::string>, Judged>;  // architecture, operation

std::uint64_t CountOf(const Json& json, const char* key) {
  if (!json.is_object()) return 0;
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

const Json& Part(const Json& json, const char* key) {
  static const Json kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

Status ReadResult(const std::string& name, const Json& json, AllJudged& judged) {
  const Json& capability = Part(json, "compute_capability");
  if (!capability.is_string() || !NumberOf(capability.get<std::string>())) {
    return InvalidArgumentError(
        fmt::format("{}: compute_capability: expected one such as \"sm_90\", found {}", name,
                    capability.dump()));
  }
  const std::string architecture = capability.get<std::string>();
  const Json& conformance = Part(json, "conformance");
  const auto add = [&](const std::string& operation, std::uint64_t runs) {
    Judged& known = judged[{architecture, operation}];
    if (runs > known.runs) known = {name, runs};
  };
  const Json& operations = Part(conformance, "operations");
  if (operations.is_object()) {
    for (const auto& [operation, result] : operations.items()) {
      add("op/" + operation, CountOf(result, "judged_runs"));
    }
  }
  add(std::string(kDraft),
      CountOf(Part(Part(conformance, "programs"), "conformance.cuda.cuda_cases_test"), "passed"));
  return OkStatus();
}

StatusOr<AllJudged> ReadResults(const std::string& folder, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system.List(folder));
  AllJudged judged;
  for (const std::string& name : names) {
    if (!name.ends_with(".json")) continue;
    const std::string path = JoinPath(folder, name);
    DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, file_system));
    DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
    DM_RETURN_IF_ERROR(ReadResult(path, json, judged));
  }
  std::erase_if(judged, [](const auto& entry) { return entry.second.runs == 0; });
  return judged;
}

// Architecture and why it cannot be built, if it cannot; ascending.
StatusOr<std::vector<std::pair<std::string, std::string>>> ReadFiles(const std::string& folder,
                                                                     FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system.List(folder));
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& name : names) {
    if (!name.starts_with("sm_") || !name.ends_with(".toml")) continue;
    const std::string architecture = name.substr(0, name.size() - std::string_view(".toml").size());
    const std::string path = JoinPath(folder, name);
    if (!NumberOf(architecture) ||
        std::isdigit(static_cast<unsigned char>(architecture.back())) == 0) {
      return InvalidArgumentError(
          fmt::format("{}: expected a name such as sm_90.toml for an architecture", path));
    }
    DM_ASSIGN_OR_RETURN(const Expectations read, Expectations::Load(path, file_system));
    files.emplace_back(architecture, read.not_built());
  }
  if (files.empty()) return NotFoundError(folder + ": holds no file of an architecture");
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return *NumberOf(a.first) < *NumberOf(b.first); });
  return files;
}

std::string CodeFor(const std::vector<std::string>& built, const std::string& architecture) {
  std::string codes;
  for (const std::string& code : built) {
    if (RunsOn(code, architecture)) codes += (codes.empty() ? "" : ", ") + code;
  }
  return codes;
}

std::string ListOf(const std::vector<std::string>& built) {
  std::string text;
  for (const std::string& code : built) text += (text.empty() ? "" : ", ") + code;
  return text.empty() ? "none" : text;
}

}  // namespace

std::string_view ArchitectureStateName(ArchitectureState state) {
  switch (state) {
    case ArchitectureState::kRun:
      return "run";
    case ArchitectureState::kCompiled:
      return "compiled";
    case ArchitectureState::kNeverRun:
      return "never run";
  }
  return "";
}

std::string ArchitectureRow::Text() const {
  return fmt::format("{}: {}", ArchitectureStateName(state), detail);
}

bool RunsOn(std::string_view code, std::string_view architecture) {
  const std::optional<int> built = NumberOf(code);
  const std::optional<int> number = NumberOf(architecture);
  if (!built || !number) return false;
  if (code.back() == 'a') return *built == *number;
  if (*built > *number) return false;
  return code.starts_with("compute_") || *built / 10 == *number / 10;
}

std::vector<std::string> BuiltArchs() {
  std::vector<std::string> archs;
  std::string_view rest = kBuiltArchs;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    archs.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return archs;
}

StatusOr<std::vector<ArchitectureRow>> ReadArchitectures(const ArchitectureSources& sources,
                                                         FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const auto files, ReadFiles(sources.expectations, file_system));
  DM_ASSIGN_OR_RETURN(const AllJudged judged, ReadResults(sources.results, file_system));
  for (const auto& [key, result] : judged) {
    const std::string& architecture = key.first;
    const auto file = std::find_if(files.begin(), files.end(),
                                   [&](const auto& one) { return one.first == architecture; });
    if (file == files.end()) {
      return NotFoundError(fmt::format("{}: ran on {}, for which {} has no file", result.file,
                                       architecture, sources.expectations));
    }
    if (!file->second.empty()) {
      return InvalidArgumentError(
          fmt::format("{}: ran on {}, of which {}/{}.toml says that it is "
                      "not built: {}",
                      result.file, architecture, sources.expectations, architecture, file->second));
    }
  }
  std::vector<std::string> operations;
  for (const std::string& name : sources.operations) operations.push_back("op/" + name);
  operations.emplace_back(kDraft);
  std::vector<ArchitectureRow> rows;
  for (const auto& [architecture, not_built] : files) {
    const std::string codes = CodeFor(sources.built, architecture);
    if (!codes.empty() && !not_built.empty()) {
      return InvalidArgumentError(
          fmt::format("{}/{}.toml: architecture.not_built: this build has code for it ({})",
                      sources.expectations, architecture, codes));
    }
    for (const std::string& operation : operations) {
      ArchitectureRow row;
      row.architecture = architecture;
      row.operation = operation;
      const auto result = judged.find({architecture, operation});
      if (result != judged.end()) {
        row.state = ArchitectureState::kRun;
        row.detail = fmt::format("{} runs in {}", result->second.runs,
                                 result->second.file.substr(result->second.file.rfind('/') + 1));
      } else if (!codes.empty()) {
        row.state = ArchitectureState::kCompiled;
        row.detail = "this build has code for it, " + codes;
      } else {
        row.detail = !not_built.empty() ? "not built: " + not_built
                                        : fmt::format("not built: this build has code for {}",
                                                      ListOf(sources.built));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

StatusOr<std::vector<ArchitectureRow>> ReadArchitecturesOfCheckout() {
  const auto find = [](const char* folder) {
    return FindInCheckout(
        folder, [](const std::string& path) { return RealFileSystem().IsDirectory(path); });
  };
  const std::optional<std::string> expectations = find("conformance/expectations");
  const std::optional<std::string> results = find("conformance/results");
  if (!expectations || !results) {
    return NotFoundError(
        "no conformance/expectations and conformance/results found: run inside a checkout");
  }
  std::vector<std::string> operations;
  for (const Operation& operation : AllOperations()) operations.emplace_back(operation.name);
  return ReadArchitectures({.expectations = *expectations,
                            .results = *results,
                            .built = BuiltArchs(),
                            .operations = operations});
}

}  // namespace draftmark
