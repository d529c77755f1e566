#include "src/base/parallel.h"

#include <algorithm>
#include <system_error>
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
  std::vector<std::thread> threads;
  for (std::size_t piece = 1; piece * length < count; ++piece) {
    const std::size_t begin = piece * length;
    const std::size_t end = std::min(count, begin + length);
    try {
      threads.emplace_back([&body, piece, begin, end] { body(piece, begin, end); });
    } catch (const std::system_error&) {
      body(piece, begin, end);  // no thread to be had: the work is done all the same
    }
  }
  body(0, 0, std::min(count, length));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace draftmark
