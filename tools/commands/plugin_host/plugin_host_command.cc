#include "tools/commands/plugin_host/plugin_host_command.h"

#include <memory>
#include <string>

#include "kernels/plugin/plugin_host.h"

namespace draftmark {

void AddPluginHostCommand(CLI::App& app, CommandContext& context) {
  auto library = std::make_shared<std::string>();
  CLI::App* const command = app.add_subcommand("plugin-host", "Internal: runs a plug-in");
  command->group("");  // no help
  command->add_option("LIBRARY", *library)->required();
  command->callback([library, &context] { context.exit_code = plugin::RunPluginHost(*library); });
}

}  // namespace draftmark
