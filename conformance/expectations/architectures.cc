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

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

constexpr char kDraftProgram[] = "conformance.cuda.cuda_cases_test";

Status Unexpected(const std::string& file, const std::string& field, std::string_view expected,
                  const Json& found) {
  return InvalidArgumentError(
      fmt::format("{}: {}: expected {}, found {}", file, field, expected, found.dump()));
}

// Null if there is none of that name; an error if what is there is no object.
StatusOr<const Json*> ObjectAt(const Json& parent, const std::string& key, const std::string& file,
                               const std::string& field) {
  const auto found = parent.find(key);
  if (found == parent.end()) return static_cast<const Json*>(nullptr);
  if (!found->is_object()) return Unexpected(file, field, "an object", *found);
  return &*found;
}

StatusOr<std::uint64_t> CountAt(const Json& parent, const char* key, const std::string& file,
                                const std::string& field) {
  const std::string name = fmt::format("{}.{}", field, key);
  const auto found = parent.find(key);
  if (found == parent.end()) {
    return InvalidArgumentError(fmt::format("{}: {}: expected a count, found none", file, name));
  }
  if (!found->is_number_unsigned()) return Unexpected(file, name, "a count", *found);
  return found->get<std::uint64_t>();
}

// Results by what they say; `operations` are the names that there are.
class ResultReader {
 public:
  explicit ResultReader(const std::vector<std::string>& operations)
      : operations_(operations.begin(), operations.end()) {}

  Status Read(const std::string& file, const Json& json) {
    if (!json.is_object()) return InvalidArgumentError(file + ": expected an object");
    const auto capability = json.find("compute_capability");
    if (capability == json.end() || !capability->is_string() ||
        !NumberOf(capability->get<std::string>())) {
      return Unexpected(file, "compute_capability", "one such as \"sm_90\"",
                        capability == json.end() ? Json() : *capability);
    }
    const std::string architecture = capability->get<std::string>();
    DM_ASSIGN_OR_RETURN(const Json* const conformance,
                        ObjectAt(json, "conformance", file, "conformance"));
    if (conformance == nullptr) return NotCounted(file, "it has no `conformance`");
    const std::string field = "conformance.operations";
    DM_ASSIGN_OR_RETURN(const Json* const operations,
                        ObjectAt(*conformance, "operations", file, field));
    if (operations != nullptr) {
      DM_RETURN_IF_ERROR(ReadOperations(file, field, architecture, *operations));
    }
    DM_ASSIGN_OR_RETURN(const Json* const programs,
                        ObjectAt(*conformance, "programs", file, "conformance.programs"));
    const std::string program_field = fmt::format("conformance.programs.{}", kDraftProgram);
    const Json* drafts = nullptr;
    if (programs != nullptr) {
      DM_ASSIGN_OR_RETURN(drafts, ObjectAt(*programs, kDraftProgram, file, program_field));
    }
    if (drafts != nullptr) {
      DM_ASSIGN_OR_RETURN(const std::uint64_t passed,
                          CountAt(*drafts, "passed", file, program_field));
      Add(architecture, std::string(kDraft), file, passed);
    }
    if (drafts != nullptr || (operations != nullptr && !operations->empty())) return OkStatus();
    return NotCounted(
        file, fmt::format("its `conformance` has neither `operations` nor {}", kDraftProgram));
  }

  AllJudged TakeJudged() {
    std::erase_if(judged_, [](const auto& entry) { return entry.second.runs == 0; });
    return std::move(judged_);
  }
  std::vector<std::string> TakeNotCounted() { return std::move(not_counted_); }

 private:
  Status ReadOperations(const std::string& file, const std::string& field,
                        const std::string& architecture, const Json& operations) {
    for (const auto& [operation, result] : operations.items()) {
      const std::string name = fmt::format("{}.{}", field, operation);
      if (!operations_.contains(operation)) {
        return InvalidArgumentError(fmt::format("{}: {}: there is no such operation", file, name));
      }
      if (!result.is_object()) return Unexpected(file, name, "an object", result);
      DM_ASSIGN_OR_RETURN(const std::uint64_t runs, CountAt(result, "judged_runs", file, name));
      Add(architecture, "op/" + operation, file, runs);
    }
    return OkStatus();
  }

  void Add(const std::string& architecture, const std::string& operation, const std::string& file,
           std::uint64_t runs) {
    Judged& known = judged_[{architecture, operation}];
    if (runs > known.runs) known = {file, runs};
  }

  Status NotCounted(const std::string& file, const std::string& why) {
    not_counted_.push_back(fmt::format("{}: {}", NameOf(file), why));
    return OkStatus();
  }

  const std::set<std::string> operations_;
  AllJudged judged_;
  std::vector<std::string> not_counted_;
};

Status ReadResults(const std::string& folder, FileSystem& file_system, ResultReader& reader) {
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system.List(folder));
  for (const std::string& name : names) {
    if (!name.ends_with(".json")) continue;
    const std::string path = JoinPath(folder, name);
    DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, file_system));
    DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
    DM_RETURN_IF_ERROR(reader.Read(path, json));
  }
  return OkStatus();
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

StatusOr<Architectures> ReadArchitectures(const ArchitectureSources& sources,
                                          FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const auto files, ReadFiles(sources.expectations, file_system));
  ResultReader reader(sources.operations);
  DM_RETURN_IF_ERROR(ReadResults(sources.results, file_system, reader));
  const AllJudged judged = reader.TakeJudged();
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
  Architectures known;
  known.not_counted = reader.TakeNotCounted();
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
        row.detail = fmt::format("{} runs in {}", result->second.runs, NameOf(result->second.file));
      } else if (!codes.empty()) {
        row.state = ArchitectureState::kCompiled;
        row.detail = "this build has code for it, " + codes;
      } else {
        row.detail = !not_built.empty() ? "not built: " + not_built
                                        : fmt::format("not built: this build has code for {}",
                                                      ListOf(sources.built));
      }
      known.rows.push_back(std::move(row));
    }
  }
  return known;
}

StatusOr<Architectures> ReadArchitecturesOfCheckout() {
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
