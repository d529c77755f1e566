// Collects what `draftmark verify` checked: prints lines as results come, or one JSON document at
// the end.
#ifndef DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_REPORT_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/expectations/expectations.h"
#include "conformance/operations/check_operation.h"
#include "kernels/plugin/contained_plugin.h"
#include "src/base/json.h"
#include "tools/commands/command.h"

namespace draftmark {

class VerifyReport {
 public:
  VerifyReport(CommandContext& context, OutputFormat format) : context_(context), format_(format) {}

  // What computes, in words: the first line, and the key "device".
  void NameDevice(const std::string& device);
  // Whose plug-in: a line, and the key "plugin".
  void NamePlugin(const std::string& path, const plugin::PluginFacts& facts);
  // What is being done right now: on a terminal only, and replaced by the next line.
  void Progress(const std::string& text);
  // A group of checks of which only the failures are worth a line each.
  void AddGroup(const std::string& suite, const std::string& subject, std::size_t checks,
                const std::vector<std::string>& failures);
  // A case and what `expectations` make of it.
  void AddDraft(const CaseReport& report, const Expectations& expectations);
  // Cases of one operation: a line for all that passed, one for all that are unsupported for one
  // reason, and one each for the others.
  void AddOperation(std::span<const OperationReport> reports, const Expectations& expectations);
  // A case that another shard runs: an entry of the expectations may be about it.
  void LeaveToOthers(const std::string& id) { others_.push_back(id); }
  // Once every case of the whole set was added: an entry that none of them needed is an error.
  void CheckNoneIsStale(const Expectations& expectations);
  // That everything was unsupported is an error: a run that checked nothing is no success.
  void CheckSomethingWasJudged();
  // Data that could not be used: one line on the error stream, exit code 2 in the end, and the rest goes on.
  void AddError(const Status& status);
  // Prints the totals and sets the exit code. Last line: `N checks passed, N failed`, with
  // `, N expected failures` and `, N skipped` behind it if there are any; these count as neither.
  void Finish();

 private:
  void Print(const std::string& text);
  // Counts a case; the text of its outcome with `details` where these are wanted.
  Verdict Judge(const CaseRun& run, const std::string& details, const Expectations& expectations,
                std::string& text);

  CommandContext& context_;
  OutputFormat format_;
  std::size_t passed_ = 0;
  std::size_t failed_ = 0;
  std::size_t expected_failures_ = 0;
  std::size_t skipped_ = 0;
  std::string device_;
  OrderedJson plugin_;
  std::vector<CaseRun> runs_;
  std::vector<std::string> others_;  // cases of other shards
  OrderedJson errors_ = OrderedJson::array();
  OrderedJson groups_ = OrderedJson::array();
  OrderedJson operations_ = OrderedJson::array();
  OrderedJson drafts_ = OrderedJson::array();
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_REPORT_H_
