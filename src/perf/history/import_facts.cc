#include "src/perf/history/import_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "src/base/json.h"
#include "src/base/sha256.h"

namespace draftmark {
namespace {

constexpr std::size_t kMostTextBytes = 4000;

// What stands behind `name`, up to a comma or the closing bracket.
std::string Behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + name.size());
  return std::string(rest.substr(0, rest.find_first_of(",)")));
}

void Override(const std::string& given, std::string& value) {
  if (!given.empty()) value = given;
}

}  // namespace

Environment EnvironmentOfDevice(std::string_view device) {
  Environment environment;
  const std::size_t bracket = device.find(" (sm_");
  environment.gpu = CleanText(device.substr(0, bracket));
  if (bracket == std::string_view::npos) return environment;
  environment.architecture = Behind(device.substr(bracket), " (");
  environment.cuda = Behind(device.substr(bracket), "runtime CUDA ");
  return environment;
}

std::string ClocksPolicyOf(std::string_view told) {
  return told == "unlocked" || told == "unknown" ? "" : CleanText(told);
}

std::string ArchitectureOf(std::string_view compute_capability) {
  if (compute_capability.starts_with("sm_")) return std::string(compute_capability);
  std::string digits;
  for (const char c : compute_capability) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
    } else if (c != '.') {
      return "";
    }
  }
  return digits.empty() ? "" : "sm_" + digits;
}

Status ApplyFacts(const ImportFacts& facts, const std::string& source, RunRecord& run) {
  if (facts.time) run.time = *facts.time;
  Override(facts.night, run.night);
  Override(facts.commit, run.commit);
  Override(facts.session, run.session);
  if (facts.number) run.number = *facts.number;
  Environment& environment = run.environment;
  Override(facts.environment.architecture, environment.architecture);
  Override(facts.environment.gpu, environment.gpu);
  Override(facts.environment.driver, environment.driver);
  Override(facts.environment.cuda, environment.cuda);
  Override(facts.environment.clocks, environment.clocks);
  if (environment.architecture.empty()) environment.architecture = "cpu";
  if (environment.clocks.empty()) environment.clocks = kDefaultClocks;
  std::string missing;
  std::string options;
  if (run.commit.empty()) {
    missing = "of which commit";
    options = "--commit ID";
  }
  if (run.time == 0) {
    missing += missing.empty() ? "of when" : " and of when";
    options += options.empty() ? "" : " ";
    options += "--time 2026-11-30T02:24:17Z";
  }
  if (missing.empty()) return OkStatus();
  return InvalidArgumentError(
      fmt::format("{}: does not say {} it is: add {}", source, missing, options));
}

std::string CleanText(std::string_view text) {
  // Copies what is UTF-8 and replaces the rest.
  const std::string quoted =
      Json(std::string(text.substr(0, kMostTextBytes)))
          .dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::string clean = Json::parse(quoted).get<std::string>();
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  clean.erase(clean.begin(),
              std::find_if(clean.begin(), clean.end(), [](char c) { return c != ' '; }));
  clean.erase(clean.find_last_not_of(' ') + 1);
  return clean;
}

std::string FileNameOf(std::string_view path) {
  return CleanText(path.substr(path.rfind('/') + 1));
}

std::string HashOf(std::string_view bytes) { return Sha256Hex(std::as_bytes(std::span(bytes))); }

}  // namespace draftmark
