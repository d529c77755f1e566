#include "tools/commands/command.h"

#include <map>

namespace draftmark {

std::string TerminalText(std::string_view message) {
  std::string text(message);
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\t') || code == 0x7F) c = '?';
  }
  return text;
}

void CommandContext::Fail(const Status& status) {
  err << "draftmark: " << TerminalText(status.message()) << "\n";
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
