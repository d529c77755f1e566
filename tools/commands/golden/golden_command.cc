#include "tools/commands/golden/golden_command.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/golden/check_golden.h"
#include "conformance/golden/export_case.h"
#include "conformance/golden/golden_set.h"
#include "conformance/golden/manifest.h"
#include "conformance/golden/regenerate.h"
#include "conformance/golden/tensor_diff.h"
#include "src/base/folder_lock.h"
#include "src/base/stale_temporaries.h"
#include "tools/commands/verify/checkout.h"

namespace draftmark {
namespace {

struct GoldenOptions {
  std::string golden;
  std::string only;
  std::string reason;
  std::string before, after;   // of diff
  std::string source, target;  // of export
  OutputFormat format = OutputFormat::kText;
};

StatusOr<std::string> GoldenFolder(const GoldenOptions& options) {
  if (!options.golden.empty()) return options.golden;
  return FindGoldenDirectory();
}

Status List(const GoldenOptions& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::string golden, GoldenFolder(options));
  DM_ASSIGN_OR_RETURN(const Manifest manifest, LoadManifest(golden));
  if (options.format == OutputFormat::kJson) {
    context.out << manifest.ToText();
    return OkStatus();
  }
  std::uint64_t bytes = 0;
  for (const ManifestEntry& entry : manifest.files) {
    bytes += entry.bytes;
    context.out << fmt::format("{:9} {:9} {:3} {} {}\n", entry.kind, entry.bytes, entry.tolerance,
                               entry.sha256.substr(0, 12), entry.path);
    for (const std::string& id : entry.cases) context.out << fmt::format("{:10}{}\n", "", id);
  }
  context.out << fmt::format("{} files, {} bytes\n", manifest.files.size(), bytes);
  return OkStatus();
}

// Prints outcomes as they come (text), or all of them at the end (JSON).
class Printer {
 public:
  Printer(CommandContext& context, OutputFormat format) : context_(context), format_(format) {}

  void Add(const FileOutcome& outcome, std::string_view good) {
    const bool passed = outcome.problem.empty();
    (passed ? passed_ : failed_) += 1;
    if (format_ == OutputFormat::kJson) {
      files_.push_back({{"path", outcome.path},
                        {"passed", passed},
                        {"detail", outcome.detail},
                        {"problem", outcome.problem}});
    } else if (passed) {
      context_.out << fmt::format("{} {}: {}\n", good, outcome.path, outcome.detail);
    } else {
      context_.out << fmt::format("FAIL {}: {}\n", outcome.path, outcome.problem);
    }
  }
  void Finish(const std::string& totals, OrderedJson json) {
    if (failed_ > 0) context_.exit_code = kExitMismatch;
    if (format_ == OutputFormat::kText) {
      context_.out << totals;
      return;
    }
    json["files"] = files_;
    PrintJson(context_.out, json);
  }
  std::size_t passed() const { return passed_; }
  std::size_t failed() const { return failed_; }

 private:
  CommandContext& context_;
  OutputFormat format_;
  OrderedJson files_ = OrderedJson::array();
  std::size_t passed_ = 0, failed_ = 0;
};

Status Check(const GoldenOptions& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::string golden, GoldenFolder(options));
  // Files that are new already, and entries that are not yet, would look damaged.
  DM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::TakeToRead(golden));
  Printer printer(context, options.format);
  DM_RETURN_IF_ERROR(CheckGolden(
      golden, options.only, [&](const FileOutcome& outcome) { printer.Add(outcome, "PASS"); }));
  printer.Finish(fmt::format("{} files checked, {} failed\n", printer.passed() + printer.failed(),
                             printer.failed()),
                 {{"checked", printer.passed() + printer.failed()}, {"failed", printer.failed()}});
  return OkStatus();
}

Status Regenerate(const GoldenOptions& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::string golden, GoldenFolder(options));
  // Two at once would each write a manifest without the other's entries.
  DM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(golden));
  // Of an earlier run that was killed while it wrote.
  RemoveStaleTemporariesBelow(golden);
  Printer printer(context, options.format);
  DM_ASSIGN_OR_RETURN(
      const RegenerateSummary summary,
      RegenerateGolden({golden, options.only, options.reason},
                       [&](const FileOutcome& outcome) { printer.Add(outcome, "CHANGED"); }));
  printer.Finish(fmt::format("{} files written, {} entries changed, {} dropped, {} unchanged\n",
                             summary.written, summary.entries, summary.dropped, summary.unchanged),
                 {{"written", summary.written},
                  {"entries_changed", summary.entries},
                  {"dropped", summary.dropped},
                  {"unchanged", summary.unchanged}});
  return OkStatus();
}

// The files of a folder that holds golden data, or the one file itself (under an empty name).
StatusOr<std::set<std::string>> FilesOf(const std::string& path) {
  if (RealFileSystem().IsFile(path)) return std::set<std::string>{""};
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListGoldenFiles(path));
  return std::set<std::string>(names.begin(), names.end());
}

Status Diff(const GoldenOptions& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::set<std::string> before, FilesOf(options.before));
  DM_ASSIGN_OR_RETURN(const std::set<std::string> after, FilesOf(options.after));
  if (before.contains("") != after.contains("")) {
    return InvalidArgumentError(
        fmt::format("{} and {}: expected two files or two folders", options.before, options.after));
  }
  std::set<std::string> names = before;
  names.insert(after.begin(), after.end());
  Printer printer(context, options.format);
  for (const std::string& name : names) {
    const std::string shown = name.empty() ? options.after : name;
    if (!before.contains(name) || !after.contains(name)) {
      printer.Add({shown, "", after.contains(name) ? "added" : "removed"}, "");
      continue;
    }
    const auto map = [&](const std::string& root) {
      return RealFileSystem().Map(name.empty() ? root : JoinPath(root, name));
    };
    DM_ASSIGN_OR_RETURN(const auto old_bytes, map(options.before));
    DM_ASSIGN_OR_RETURN(const auto new_bytes, map(options.after));
    const StatusOr<std::vector<TensorMove>> compared = DiffFiles(shown, old_bytes, new_bytes);
    if (!compared.ok()) {
      // A damaged file differs; the others are still worth knowing.
      printer.Add({shown, "", compared.status().ToString()}, "");
      continue;
    }
    const std::vector<TensorMove>& moves = *compared;
    if (moves.empty()) continue;
    std::string problem = fmt::format("{} tensors moved", moves.size());
    for (const TensorMove& move : moves) problem += "\n" + DescribeMove(move);
    while (problem.back() == '\n') problem.pop_back();
    printer.Add({shown, "", problem}, "");
  }
  printer.Finish(fmt::format("{} files compared, {} differ\n", names.size(), printer.failed()),
                 {{"compared", names.size()}, {"differ", printer.failed()}});
  return OkStatus();
}

Status Export(const GoldenOptions& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::string golden, GoldenFolder(options));
  const std::string named = JoinPath(JoinPath(golden, "drafts"), options.source);
  const std::string source = RealFileSystem().IsDirectory(named) ? named : options.source;
  DM_RETURN_IF_ERROR(ExportCase(source, options.target));
  context.out << fmt::format("{}: config.json, model.safetensors, golden.safetensors\n",
                             options.target);
  return OkStatus();
}

}  // namespace

void AddGoldenCommand(CLI::App& app, CommandContext& context) {
  CLI::App* const golden =
      app.add_subcommand("golden", "The golden set: list, check, regenerate, compare, export");
  golden->require_subcommand(1);
  auto options = std::make_shared<GoldenOptions>();
  const auto add = [&](const char* name, const char* help,
                       Status (*run)(const GoldenOptions&, CommandContext&)) {
    CLI::App* const command = golden->add_subcommand(name, help);
    AddFormatOption(*command, options->format);
    command->callback([options, &context, run] {
      if (const Status status = run(*options, context); !status.ok()) context.Fail(status);
    });
    return command;
  };
  const auto add_folder = [&](CLI::App* command) {
    command->add_option("--golden", options->golden, "Golden folder, if not that of the checkout");
  };
  add_folder(add("list", "Files, sizes, tolerance classes, hashes and cases", List));
  CLI::App* const check =
      add("check", "Verify every hash, compute every generated file again, compare bytes", Check);
  add_folder(check);
  check->add_option("--only", options->only, "Paths or cases to check; * stands for any text");
  CLI::App* const regen =
      add("regen", "Compute twice, write what changed, say what moved", Regenerate);
  add_folder(regen);
  regen->add_option("--only", options->only, "Paths or cases to make; * stands for any text");
  regen->add_option("--reason", options->reason, "Why, for the manifest")->required();
  CLI::App* const diff = add("diff", "Two golden folders or files: which tensors moved", Diff);
  diff->add_option("OLD", options->before, "Folder or file")->required();
  diff->add_option("NEW", options->after, "Folder or file")->required();
  CLI::App* const copy =
      add("export", "Write a generated case out: weights, inputs and stages as files", Export);
  add_folder(copy);
  copy->add_option("CASE", options->source, "Name below golden/drafts, or a folder")->required();
  copy->add_option("DIR", options->target, "Where to; made if it is not there")->required();
}

}  // namespace draftmark
