// The share of one process in a list of cases that several work off: every case in exactly one shard.
//
//   DM_ASSIGN_OR_RETURN(Shard shard, Shard::Parse("2/4"));   // the second of four
//   for (const Case& c : cases) {
//     if (shard.TakesNext()) Run(c);
//   }
//
// Cases are dealt like cards, so neighbours (which take about as long) end up in different shards.
// All shards must go through the same list in the same order. "bazel" stands for what `bazel test`
// says of a target with shard_count: TEST_SHARD_INDEX and TEST_TOTAL_SHARDS; Shard::Parse then
// creates the file that TEST_SHARD_STATUS_FILE names, by which Bazel knows that the test shares its
// work. Not thread-safe: a shard counts.
#ifndef DRAFTMARK_SRC_BASE_SHARD_H_
#define DRAFTMARK_SRC_BASE_SHARD_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace draftmark {

class Shard {
 public:
  Shard() = default;  // takes everything

  // "I/N" with 1 <= I <= N <= 10000, or "bazel"; that takes everything where the test is not
  // sharded. INVALID_ARGUMENT names what was expected and found; errors of the status file's system
  // calls otherwise.
  static StatusOr<Shard> Parse(std::string_view text);

  // Whether the next case of the list belongs to this shard.
  bool TakesNext() { return next_++ % count_ == index_; }

  bool takes_everything() const { return count_ == 1; }
  std::string ToString() const;  // "2/4"

 private:
  Shard(std::size_t index, std::size_t count) : index_(index), count_(count) {}

  static StatusOr<Shard> FromBazel();

  std::size_t index_ = 0;
  std::size_t count_ = 1;
  std::size_t next_ = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_SHARD_H_
