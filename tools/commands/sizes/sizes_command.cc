#include "tools/commands/sizes/sizes_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "conformance/sizes/size_rows.h"
#include "src/config/model_config.h"
#include "tools/commands/sizes/sizes_report.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> rows;
  SizingArguments arguments;
  OutputFormat format = OutputFormat::kText;
};

void PrintSizes(const Options& options, CommandContext& context) {
  const StatusOr<ModelConfig> config = LoadModelConfig(options.config);
  if (!config.ok()) return context.Fail(config.status());
  const StatusOr<SizesReport> report =
      SizesReport::Create(options.config, *config, options.arguments);
  if (!report.ok()) return context.Fail(report.status());
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, report->ToJson());
  } else {
    context.out << report->ToText();
  }
}

OrderedJson MismatchToJson(const RowMismatch& mismatch) {
  OrderedJson json;
  json["file"] = mismatch.file;
  json["row"] = mismatch.row;
  json["what"] = mismatch.what;
  json["expected"] = mismatch.expected;
  json["found"] = mismatch.found;
  return json;
}

// Every file is looked at; one that cannot be used makes the exit code 2 whatever the others say.
void CheckRows(const Options& options, CommandContext& context) {
  std::uint64_t rows = 0;
  std::uint64_t mismatches = 0;
  OrderedJson list = OrderedJson::array();
  for (const std::string& file : options.rows) {
    const StatusOr<RowsReport> report = CheckSizeRowsFile(file);
    if (!report.ok()) {
      context.Fail(report.status());
      continue;
    }
    rows += report->rows;
    mismatches += report->mismatches.size();
    for (const RowMismatch& mismatch : report->mismatches) {
      if (options.format == OutputFormat::kJson) {
        list.push_back(MismatchToJson(mismatch));
      } else {
        context.out << mismatch.ToString() << "\n";
      }
    }
  }
  if (options.format == OutputFormat::kJson) {
    OrderedJson json;
    json["rows"] = rows;
    json["mismatches"] = list;
    PrintJson(context.out, json);
  } else {
    context.out << fmt::format("{} rows, {} mismatches\n", rows, mismatches);
  }
  if (mismatches > 0 && context.exit_code == kExitGood) context.exit_code = kExitMismatch;
}

}  // namespace

void AddSizesCommand(CLI::App& app, CommandContext& context) {
  CLI::App& command = *app.add_subcommand(
      "sizes", "Byte sizes of the 41 buffers of one forward pass, or a check of oracle rows");
  auto options = std::make_shared<Options>();
  SizingArguments& a = options->arguments;
  CLI::Option* const config = command.add_option(
      "CONFIG", options->config, "config.json of a model, or flat JSON of the 34 sizing fields");
  const std::vector<CLI::Option*> required = {
      AddU64Option(command, "--max-batch-tokens", a.max_batch_tokens,
                   "most token rows of one pass"),
      AddU64Option(command, "--max-seq-len", a.max_seq_len, "longest context in tokens"),
      AddU64Option(command, "--kv-block-size", a.kv_block_size, "tokens per KV page"),
      AddU64Option(command, "--max-batch-size", a.max_batch_size, "sequences decoded at once")};
  std::vector<CLI::Option*> sizing = required;
  sizing.push_back(command.add_flag("--native-q2", a.native_q2,
                                    "size the scratch that expands packed 2-bit weights"));
  sizing.push_back(command.add_flag("--native-q2-mmq", a.native_q2_mmq,
                                    "size the q8_1 activations of packed 2-bit weights"));
  sizing.push_back(AddU64Option(command, "--sm-count", a.sm_count,
                                "streaming multiprocessors: split-K partials (default 48)"));
  CLI::Option* const rows = command.add_option(
      "--rows", options->rows, "check files of oracle rows instead of sizing a config");
  rows->expected(1, -1)->type_name("FILE ...");
  AddFormatOption(command, options->format);
  // Two commands in one: the options of one make no sense with the other.
  config->excludes(rows);
  for (CLI::Option* option : sizing) rows->excludes(option);
  command.callback([options, required, config, rows, &context] {
    if (rows->count() > 0) return CheckRows(*options, context);
    if (config->count() == 0) throw CLI::RequiredError("CONFIG or --rows");
    for (const CLI::Option* option : required) {
      if (option->count() == 0) throw CLI::RequiredError(option->get_name());
    }
    PrintSizes(*options, context);
  });
}

}  // namespace draftmark
