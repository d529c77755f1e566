// How fast ParseJson reads a safetensors header: the largest JSON that the project parses.
//
//   bazel run //benchmarks:json_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "fmt/format.h"
#include "src/base/check.h"
#include "src/base/json.h"

namespace draftmark {
namespace {

std::string SafetensorsHeader(std::int64_t tensors) {
  std::string text = "{";
  for (std::int64_t i = 0; i < tensors; ++i) {
    text +=
        fmt::format(R"({}"model.layers.{}.mlp.up_proj.weight":{{"dtype":"BF16","shape":[4096,128],)"
                    R"("data_offsets":[{},{}]}})",
                    i == 0 ? "" : ",", i, i * 1048576, (i + 1) * 1048576);
  }
  return text + "}";
}

void BM_ParseSafetensorsHeader(benchmark::State& state) {
  const std::string text = SafetensorsHeader(state.range(0));
  for ([[maybe_unused]] auto iteration : state) {
    const StatusOr<Json> json = ParseJson(text, "header");
    DM_CHECK(json.ok());
    benchmark::DoNotOptimize(json->size());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_ParseSafetensorsHeader)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace draftmark
