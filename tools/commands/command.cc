#include "tools/commands/command.h"

#include <map>

namespace draftmark {

void CommandContext::Fail(const Status& status) {
  err << "draftmark: " << status.message() << "\n";
  exit_code = kExitError;
}

void AddFormatOption(CLI::App& command, OutputFormat& format) {
  const std::map<std::string, OutputFormat> names = {{"text", OutputFormat::kText},
                                                     {"json", OutputFormat::kJson}};
  command.add_option("--format", format, "text for people or json for programs")
      ->transform(CLI::CheckedTransformer(names).description("{text,json}"))
      ->default_str("text");
}

void PrintJson(std::ostream& out, const OrderedJson& json) {
  out << json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

}  // namespace draftmark
