#include "tools/commands/dump_template/dump_template_command.h"

#include <fmt/format.h>

#include <memory>

#include "conformance/diagnosis/source.h"
#include "conformance/diagnosis/template.h"
#include "tools/commands/diff/source_options.h"

namespace draftmark {
namespace {

struct TemplateOptions {
  DiagnosisPaths paths;
  OutputFormat format = OutputFormat::kText;
};

void Run(const TemplateOptions& options, CommandContext& context) {
  const StatusOr<DiagnosisInputs> inputs = LoadDiagnosisInputs(options.paths);
  if (!inputs.ok()) return context.Fail(inputs.status());
  const std::vector<TemplateTensor> tensors = DumpTemplate(inputs->config, inputs->bands);
  const std::string snippet = PythonSnippet(inputs->config);
  if (options.format == OutputFormat::kText) {
    context.out << "# Any subset of these; floats as BF16, F16, F32 or F64, ids as any integers.\n";
    for (const TemplateTensor& tensor : tensors) {
      context.out << fmt::format("{:<44} {:<4} {}\n", tensor.name, DTypeName(tensor.dtype),
                                 ShapeToString(tensor.shape));
    }
    context.out << "\n# From a PyTorch module `drafter`:\n" << snippet;
    return;
  }
  OrderedJson json;
  json["tensors"] = OrderedJson::array();
  for (const TemplateTensor& tensor : tensors) {
    OrderedJson entry;
    entry["name"] = tensor.name;
    entry["dtype"] = DTypeName(tensor.dtype);
    entry["shape"] = tensor.shape;
    json["tensors"].push_back(std::move(entry));
  }
  json["python"] = snippet;
  PrintJson(context.out, json);
}

}  // namespace

void AddDumpTemplateCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<TemplateOptions>();
  CLI::App* const command = app.add_subcommand(
      "dump-template", "Say which stages an engine should dump for `draftmark diff`, and how");
  command->add_option("CASE", options->paths.case_directory, "Case folder");
  AddSourceOptions(*command, options->paths);
  AddFormatOption(*command, options->format);
  command->callback([options, &context] { Run(*options, context); });
}

}  // namespace draftmark
