#include "conformance/configs/check_configs.h"

#include <fmt/format.h>

#include "src/base/file_system.h"

namespace draftmark {
namespace {

StatusOr<Json> ReadJson(const std::string& path) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseJson(text, path);
}

// The first difference in the expected order of keys, "" if there is none. Both sides must have the
// same keys.
std::string FirstDifference(const OrderedJson& found, const Json& expected) {
  const Json plain = Json::parse(found.dump());
  for (const auto& [key, value] : expected.items()) {
    if (!plain.contains(key))
      return fmt::format("{}: expected {}, found nothing", key, value.dump());
    if (plain[key] != value) {
      return fmt::format("{}: expected {}, found {}", key, value.dump(), plain[key].dump());
    }
  }
  for (const auto& [key, value] : plain.items()) {
    if (!expected.contains(key)) {
      return fmt::format("{}: expected nothing, found {}", key, value.dump());
    }
  }
  return "";
}

// `family` of expected.json may have more words: "nemotron_h (dense)".
std::string FirstWord(const std::string& text) { return text.substr(0, text.find(' ')); }

std::string CheckTarget(const StatusOr<ModelConfig>& config, const std::string& family,
                        const Json& expected) {
  if (!config.ok()) return config.status().ToString();
  if (config->family != FirstWord(family)) {
    return fmt::format("family: expected {}, found {}", FirstWord(family), config->family);
  }
  return FirstDifference(ToJson(config->fields), expected);
}

std::string CheckEntry(const StatusOr<DrafterConfig>& config, const JsonObject& entry) {
  if (!entry.Has("weights_params_computed")) {
    // Unknown values or another architecture.
    return config.ok() ? "expected to be refused, but was read" : "";
  }
  if (!config.ok()) return config.status().ToString();
  const std::uint64_t parameters = CountDrafterParameters(*config);
  if (entry.json()["weights_params_computed"] != parameters) {
    return fmt::format("weights_params_computed: expected {}, found {}",
                       entry.json()["weights_params_computed"].dump(), parameters);
  }
  // Every key that both have; `kind` means another thing in the catalogue, and its `rope` has the
  // details.
  Json expected = Json::object();
  OrderedJson found = OrderedJson::object();
  const OrderedJson geometry = GeometryToJson(*config);
  for (const auto& [key, value] : entry.json().items()) {
    if (key == "kind" || key == "rope" || !geometry.contains(key)) continue;
    expected[key] = value;
    found[key] = geometry[key];
  }
  return FirstDifference(found, expected);
}

Status CheckCatalogue(const std::string& path, const ConfigImplementation& implementation,
                      std::vector<ConfigCheck>& checks) {
  DM_ASSIGN_OR_RETURN(const Json json, ReadJson(path));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, path));
  DM_ASSIGN_OR_RETURN(const auto entries, root.ObjectList("configs"));
  for (const JsonObject& entry : entries) {
    DM_ASSIGN_OR_RETURN(const std::string name, entry.String("name"));
    checks.push_back({"catalogue/" + name, CheckEntry(implementation.drafter(path, name), entry)});
  }
  return OkStatus();
}

// Calls `check(stem, object)` for each member of an object of objects.
template <typename Check>
Status ForEach(const JsonObject& root, std::string_view key, Check check) {
  DM_ASSIGN_OR_RETURN(const JsonObject members, root.Object(key));
  for (const auto& [stem, unused] : members.json().items()) {
    DM_ASSIGN_OR_RETURN(const JsonObject member, members.Object(stem));
    DM_RETURN_IF_ERROR(check(stem, member));
  }
  return OkStatus();
}

}  // namespace

std::string ConfigCheck::ToString() const {
  return passed() ? "ok   " + name : fmt::format("FAIL {}: {}", name, failure);
}

StatusOr<std::vector<ConfigCheck>> CheckConfigs(const std::string& directory,
                                                const ConfigImplementation& implementation) {
  const std::string expected_path = JoinPath(directory, "expected.json");
  DM_ASSIGN_OR_RETURN(const Json expected, ReadJson(expected_path));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(expected, expected_path));
  std::vector<ConfigCheck> checks;
  DM_RETURN_IF_ERROR(
      ForEach(root, "targets", [&](const std::string& stem, const JsonObject& target) -> Status {
        DM_ASSIGN_OR_RETURN(const std::string file, target.String("file"));
        DM_ASSIGN_OR_RETURN(const std::string family, target.String("family"));
        DM_ASSIGN_OR_RETURN(const JsonObject fields, target.Object("config"));
        checks.push_back(
            {"target/" + stem,
             CheckTarget(implementation.target(JoinPath(directory, file)), family, fields.json())});
        return OkStatus();
      }));
  DM_RETURN_IF_ERROR(
      ForEach(root, "drafters", [&](const std::string& stem, const JsonObject& drafter) -> Status {
        DM_ASSIGN_OR_RETURN(const std::string file, drafter.String("file"));
        DM_ASSIGN_OR_RETURN(const JsonObject geometry, drafter.Object("geometry"));
        const auto config = implementation.drafter(JoinPath(directory, file), "");
        checks.push_back({"drafter/" + stem,
                          config.ok() ? FirstDifference(GeometryToJson(*config), geometry.json())
                                      : config.status().ToString()});
        return OkStatus();
      }));
  const std::string catalogue = JoinPath(directory, "drafter_configs.json");
  if (RealFileSystem().IsFile(catalogue)) {
    DM_RETURN_IF_ERROR(CheckCatalogue(catalogue, implementation, checks));
  }
  return checks;
}

}  // namespace draftmark
