// How fast the work is that needs no GPU: sizing, scratch layouts, reading checkpoints, comparing.
//
//   bazel run //benchmarks:cpu_benchmark
//
// A plain program of Google Benchmark: its time is the CPU's, and all of its flags apply. Inputs are
// files of golden/configs and generated data; what cannot be read ends the program.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/draft_case.h"
#include "benchmarks/operation_shapes.h"
#include "fmt/format.h"
#include "src/base/check.h"
#include "src/base/counter_hash.h"
#include "src/base/memory_file_system.h"
#include "src/compare/comparison.h"
#include "src/scratch/buffer_sizes.h"
#include "src/scratch/dflash_layout.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kTensorBytes = std::uint64_t{1} << 20;

// A checkpoint of so many tensors of 1 MiB each, in memory.
class GeneratedCheckpoint {
 public:
  explicit GeneratedCheckpoint(std::uint64_t tensors) {
    const std::uint64_t columns = kTensorBytes / 2 / 64;
    const std::vector<std::byte> bytes(64 * columns * 2, std::byte{0x3C});
    SafetensorsWriter writer;
    for (std::uint64_t i = 0; i < tensors; ++i) {
      DM_CHECK(writer
                   .Add(fmt::format("layers.{}.mlp.up_proj.weight", i),
                        {DType::kBF16, {64, columns}, bytes})
                   .ok());
    }
    DM_CHECK(writer.Write(path_, files_).ok());
    bytes_ = files_.Map(path_).value();
  }

  const std::string& path() const { return path_; }
  MemoryFileSystem& files() { return files_; }
  std::uint64_t size() const { return bytes_->bytes().size(); }

 private:
  const std::string path_ = "model.safetensors";
  MemoryFileSystem files_;
  std::shared_ptr<const FileBytes> bytes_;
};

// Header, checks of every tensor, and its bytes read once.
void BM_LoadSafetensors(benchmark::State& state) {
  GeneratedCheckpoint checkpoint(static_cast<std::uint64_t>(state.range(0)));
  for ([[maybe_unused]] auto iteration : state) {
    const StatusOr<SafetensorsFile> file =
        SafetensorsFile::Open(checkpoint.path(), checkpoint.files());
    DM_CHECK(file.ok());
    std::uint64_t sum = 0;
    for (const std::string& name : file->names()) {
      const StatusOr<TensorView> view = file->Get(name);
      DM_CHECK(view.ok());
      for (const std::byte byte : view->bytes) sum += static_cast<std::uint64_t>(byte);
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(checkpoint.size()));
}
BENCHMARK(BM_LoadSafetensors)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);

// The header alone, as of a checkpoint that is mapped.
void BM_OpenSafetensors(benchmark::State& state) {
  GeneratedCheckpoint checkpoint(static_cast<std::uint64_t>(state.range(0)));
  for ([[maybe_unused]] auto iteration : state) {
    const StatusOr<SafetensorsFile> file =
        SafetensorsFile::Open(checkpoint.path(), checkpoint.files());
    DM_CHECK(file.ok());
    benchmark::DoNotOptimize(file->names().size());
  }
}
BENCHMARK(BM_OpenSafetensors)->Arg(64)->Unit(benchmark::kMicrosecond);

// The 41 buffers of a forward pass and their total.
void BM_SizeBuffers(benchmark::State& state) {
  SizingFields fields;
  fields.hidden_size = 5120;
  fields.num_attention_heads = 40;
  fields.num_key_value_heads = 8;
  fields.head_dim = 128;
  fields.intermediate_size = 25600;
  fields.vocab_size = 151936;
  for ([[maybe_unused]] auto iteration : state) {
    const StatusOr<BufferSizes> sizes = BufferSizes::FromConfig(fields, {.max_batch_tokens = 2048,
                                                                         .max_seq_len = 32768,
                                                                         .kv_block_size = 16,
                                                                         .max_batch_size = 32});
    DM_CHECK(sizes.ok());
    benchmark::DoNotOptimize(sizes->TotalBytes().value());
  }
}
BENCHMARK(BM_SizeBuffers);

// The scratch of every verified drafter, version 2.
void BM_LayOutScratch(benchmark::State& state, const std::vector<NamedDrafter>& drafters) {
  for ([[maybe_unused]] auto iteration : state) {
    for (const NamedDrafter& drafter : drafters) {
      DflashScratchRequest request;
      request.geometry = DflashGeometry::FromConfig(drafter.config);
      request.tensors = DrafterTensorsPresent::FromConfig(drafter.config);
      request.ctx_window = 4096;
      request.max_batch = 8;
      const StatusOr<DflashScratchLayout> layout = DflashScratchLayout::Create(request);
      DM_CHECK(layout.ok());
      benchmark::DoNotOptimize(layout->device_bytes());
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(drafters.size()));
}

// The catalogue's entries, from parsed JSON to checked configs.
void BM_ReadDrafters(benchmark::State& state, const DrafterCatalogue& catalogue) {
  for ([[maybe_unused]] auto iteration : state) {
    const StatusOr<std::vector<NamedDrafter>> drafters =
        VerifiedDrafters(catalogue.json, catalogue.path);
    DM_CHECK(drafters.ok());
    benchmark::DoNotOptimize(drafters->size());
  }
}

// One tensor against another: differences, ULPs, histogram.
void BM_Compare(benchmark::State& state) {
  const auto elements = static_cast<std::uint64_t>(state.range(0));
  std::vector<double> expected, got;
  for (std::uint64_t i = 0; i < elements; ++i) {
    expected.push_back(4 * UniformAt(1, i) - 2);
    got.push_back(expected.back() * (1 + 1e-3 * (UniformAt(2, i) - 0.5)));
  }
  for ([[maybe_unused]] auto iteration : state) {
    const Comparison compared = Compare({elements}, expected, got, UlpUnit::kBf16);
    benchmark::DoNotOptimize(compared.relative_l2);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(elements));
}
BENCHMARK(BM_Compare)->Arg(4096)->Arg(1 << 20)->Unit(benchmark::kMicrosecond);

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const StatusOr<DrafterCatalogue> catalogue = LoadDrafterCatalogue("");
  if (!catalogue.ok()) {
    std::cerr << "cpu_benchmark: " << catalogue.status().message() << "\n";
    return 2;
  }
  const std::vector<NamedDrafter> drafters =
      VerifiedDrafters(catalogue->json, catalogue->path).value();
  benchmark::RegisterBenchmark("BM_LayOutScratch", BM_LayOutScratch, drafters)
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("BM_ReadDrafters", BM_ReadDrafters, *catalogue)
      ->Unit(benchmark::kMicrosecond);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) { return draftmark::Main(argc, argv); }
