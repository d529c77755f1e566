#include "tools/commands/config/config_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "src/base/json.h"
#include "src/config/config_file.h"
#include "src/config/drafter_config.h"
#include "src/config/model_config.h"

namespace draftmark {
namespace {

struct ConfigOptions {
  std::string file;
  std::string entry;
  OutputFormat format = OutputFormat::kText;
};

// Settings of a drafter beyond its geometry, where they are not the usual ones.
OrderedJson DetailsToJson(const DrafterConfig& config) {
  OrderedJson details = OrderedJson::object();
  const RopeConfig& rope = config.rope;
  OrderedJson rotary = OrderedJson::object();
  if (rope.partial_rotary_factor != 1 || rope.pairing != RopePairing::kHalfOfRotary) {
    rotary["partial_rotary_factor"] = rope.partial_rotary_factor;
    rotary["rope_pairing"] =
        rope.pairing == RopePairing::kHalfOfHead ? "half_of_head" : "half_of_rotary";
  }
  if (rope.type == "yarn") {
    rotary["factor"] = rope.factor;
    rotary["original_max_position_embeddings"] = rope.original_max_position_embeddings;
    rotary["beta_fast"] = rope.beta_fast;
    rotary["beta_slow"] = rope.beta_slow;
    rotary["truncate"] = rope.truncate;
    if (rope.mscale) rotary["mscale"] = *rope.mscale;
    if (rope.mscale_all_dim) rotary["mscale_all_dim"] = *rope.mscale_all_dim;
    if (rope.attention_factor) rotary["attention_factor"] = *rope.attention_factor;
  }
  if (!rotary.empty()) details["rope"] = rotary;
  if (config.output_multiplier != 1) details["output_multiplier"] = config.output_multiplier;
  if (config.final_logit_softcapping) {
    details["final_logit_softcapping"] = *config.final_logit_softcapping;
  }
  if (config.input_embedding_scale != 1) {
    details["input_embedding_scale"] = config.input_embedding_scale;
  }
  if (config.draft_vocab_size && *config.draft_vocab_size != config.vocab_size) {
    details["draft_vocab_size"] = *config.draft_vocab_size;
  }
  return details;
}

StatusOr<OrderedJson> Describe(const ConfigOptions& options) {
  DM_ASSIGN_OR_RETURN(const Json json, ReadConfigFile(options.file));
  OrderedJson out;
  if (IsDrafterConfig(json)) {
    DM_ASSIGN_OR_RETURN(const DrafterConfig config,
                        ParseDrafterConfig(json, options.file, options.entry));
    out["kind"] = "drafter";
    out["geometry"] = GeometryToJson(config);
    if (OrderedJson details = DetailsToJson(config); !details.empty()) out["details"] = details;
    return out;
  }
  if (!options.entry.empty()) {
    return InvalidArgumentError(options.file + ": --entry is for collections of drafters");
  }
  DM_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(json, options.file));
  out["kind"] = "target";
  out["family"] = config.family;
  out["config"] = ToJson(config.fields);
  return out;
}

// "a, b, c" for lists, "-" for null, no quotes round strings.
std::string ValueText(const OrderedJson& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const OrderedJson& element : value) {
    if (!text.empty()) text += ", ";
    text += ValueText(element);
  }
  return text;
}

// One line per value; an object's own values follow it, indented.
void PrintTable(std::ostream& out, const OrderedJson& object, std::size_t indent = 0) {
  std::size_t width = 0;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object()) width = std::max(width, key.size());
  }
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      out << fmt::format("{:{}}{}\n", "", indent, key);
      PrintTable(out, value, indent + 2);
    } else {
      out << fmt::format("{:{}}{:{}}  {}\n", "", indent, key, width, ValueText(value));
    }
  }
}

void RunConfig(const ConfigOptions& options, CommandContext& context) {
  const StatusOr<OrderedJson> description = Describe(options);
  if (!description.ok()) return context.Fail(description.status());
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, *description);
  } else {
    PrintTable(context.out, *description);
  }
}

}  // namespace

void AddConfigCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* command =
      app.add_subcommand("config", "Shows what is understood of a target's or a drafter's config");
  command
      ->add_option("FILE", options->file,
                   "config.json, params.json, our flat JSON, or a "
                   "collection of drafter configs")
      ->required();
  command->add_option("--entry", options->entry, "name of an entry of a collection of drafters");
  AddFormatOption(*command, options->format);
  command->callback([options, &context] { RunConfig(*options, context); });
}

}  // namespace draftmark
