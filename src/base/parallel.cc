#include "src/base/parallel.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace draftmark {

std::size_t ParallelPieces(std::size_t count, std::size_t grain) {
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(count / std::max<std::size_t>(1, grain), 1, cores);
}

void ParallelFor(
    std::size_t count, std::size_t grain,
    const std::function<void(std::size_t piece, std::size_t begin, std::size_t end)>& body) {
  if (count == 0) return;
  const std::size_t pieces = ParallelPieces(count, grain);
  const std::size_t length = (count + pieces - 1) / pieces;
  std::mutex guard;
  std::exception_ptr thrown;  // the first
  const auto run = [&](std::size_t piece, std::size_t begin, std::size_t end) {
    try {
      body(piece, begin, end);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(pieces);  // here, where a failure finds no thread at work
  for (std::size_t piece = 1; piece * length < count; ++piece) {
    const std::size_t begin = piece * length;
    const std::size_t end = std::min(count, begin + length);
    try {
      threads.emplace_back([&run, piece, begin, end] { run(piece, begin, end); });
    } catch (const std::exception&) {
      run(piece, begin, end);  // no thread or no memory for one: the work is done all the same
    }
  }
  run(0, 0, std::min(count, length));
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace draftmark
