#include "benchmarks/roofline/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/child_process.h"
#include "src/base/errno_status.h"
#include "src/base/file_system.h"
#include "src/base/json.h"

namespace draftmark {
namespace {

// A missing one might be the best.
constexpr const char* kColumns[] = {"eager", "graph", "fused_graph", "compile_graph",
                                    "fused_compile"};
constexpr int kMachineLacks = 2;  // the script's exit code without PyTorch or a GPU

bool Faster(const BaselineColumn& a, const BaselineColumn& b) {
  if (a.milliseconds == 0 || b.milliseconds == 0) return a.milliseconds > b.milliseconds;
  return a.milliseconds < b.milliseconds;
}

// An empty folder, removed with what is in it.
class TemporaryFolder {
 public:
  static StatusOr<TemporaryFolder> Create() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string path = (error ? "/tmp" : parent.string()) + "/draftmark-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, "create", path);
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  std::string Path(const std::string& name) const { return JoinPath(path_, name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace

const BaselineColumn& BaselineTimes::best() const {
  return *std::min_element(columns.begin(), columns.end(), Faster);
}

StatusOr<BaselineTimes> ParseBaseline(std::string_view text, const std::string& source,
                                      const std::string& drafter) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  BaselineTimes times;
  DM_ASSIGN_OR_RETURN(times.torch, root.StringOr("torch", "unknown"));
  DM_ASSIGN_OR_RETURN(const JsonObject found, root.Object(drafter));
  for (const char* const name : kColumns) {
    const std::string key = fmt::format("{}_ms", name);
    BaselineColumn column;
    column.name = name;
    if (const Json* const value = found.Find(key); value != nullptr && value->is_string()) {
      column.failure = value->get<std::string>();
    } else {
      DM_ASSIGN_OR_RETURN(column.milliseconds, found.Number(key));
      if (!(column.milliseconds > 0)) return found.TypeError(key, "a time above 0");
    }
    times.columns.push_back(std::move(column));
  }
  if (times.best().milliseconds == 0) {
    return InvalidArgumentError(fmt::format("{}: every column has failed: {}",
                                            found.Where(times.columns.front().name),
                                            times.columns.front().failure));
  }
  return times;
}

StatusOr<BaselineTimes> PytorchBaseline::Time(const std::string& drafter) {
  DM_RETURN_IF_ERROR(unavailable_);
  StatusOr<BaselineTimes> times = Run(drafter);
  if (times.status().code() == StatusCode::kUnavailable) unavailable_ = times.status();
  return times;
}

StatusOr<BaselineTimes> PytorchBaseline::Run(const std::string& drafter) {
  DM_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create());
  const std::string out = folder.Path("baseline.json");
  const auto begin = std::chrono::steady_clock::now();
  StatusOr<ChildResult> child = RunChild({options_.python, options_.script, out, "--only", drafter},
                                         {.seconds = options_.seconds - used_seconds_});
  if (!child.ok()) return UnavailableError(child.status().message());
  const std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  used_seconds_ += used.count();
  if (child->timed_out) {
    return UnavailableError(fmt::format("{} was not done after {:.0f} s (--baseline-seconds)",
                                        drafter, options_.seconds));
  }
  if (child->exit_code == kMachineLacks) return UnavailableError(LastLine(child->output));
  if (child->exit_code != 0) {
    return InternalError(fmt::format("{}: {} ended with exit code {}: {}", drafter, options_.script,
                                     child->exit_code, LastLine(child->output)));
  }
  StatusOr<std::string> text = ReadTextFile(out);
  if (!text.ok()) return text.status().Annotated(drafter);
  return ParseBaseline(*text, "the baseline's JSON", drafter);
}

}  // namespace draftmark
