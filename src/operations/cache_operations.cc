// The paged K/V cache and the attention over it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/backend/cache_slots.h"
#include "src/base/counter_hash.h"
#include "src/operations/support.h"
#include "src/reference/attention.h"
#include "src/reference/paged_cache.h"

namespace draftmark::operations {
namespace {

constexpr std::uint64_t kPageRows = kCacheBlockRows;
// The context ends this far behind its slot indices: masks must compare positions, not slots.
constexpr std::uint64_t kPositionOffset = 977;
// Blocks of the pool that no table names; they stay poisoned.
constexpr std::uint64_t kSpareBlocks = 2;

// `count` different numbers below `range`, in an order that the seed decides.
std::vector<std::uint64_t> Shuffled(std::uint64_t seed, std::uint64_t range, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(range);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  std::sort(numbers.begin(), numbers.end(),
            [&](std::uint64_t a, std::uint64_t b) { return BitsAt(seed, a) < BitsAt(seed, b); });
  numbers.resize(count);
  return numbers;
}

// ---- slot_fill

// Context rows of a band: bands differ, so that whoever reads the first one's record is wrong.
std::uint64_t ContextOf(const ShapeKeys& keys, std::uint64_t band) {
  return keys["ctx"] - std::min(keys["ctx"], 3 * band);
}

// Entries of the block tables that the block rows of all bands lie in.
std::uint64_t PagesOfBlocks(const ShapeKeys& keys) {
  std::uint64_t pages = 0;
  for (std::uint64_t band = 0; band < keys["bands"]; ++band) {
    const std::uint64_t first = ContextOf(keys, band);
    pages += (first + keys["band"] - 1) / kPageRows - first / kPageRows + 1;
  }
  return pages;
}

std::uint64_t FirstLogicalIndex(const OperandSet& in, std::size_t band) {
  return in.Elements<std::uint32_t>("first")[band];
}

template <typename N>
OperandValues SlotReference(const OperationCase& c, const OperandSet& in) {
  std::vector<double> slots;
  const std::span<const std::uint32_t> tables = in.Elements<std::uint32_t>("block_tables");
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::size_t band = row / c["band"];
    slots.push_back(static_cast<double>(SlotOf(tables.subspan(band * c["table"], c["table"]),
                                               FirstLogicalIndex(in, band) + row % c["band"])));
  }
  return {{"slots", std::move(slots)}};
}

OracleValues SlotOracle(const OperationCase& c, const OperandSet& in, Precision) {
  std::vector<double> slots;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::uint64_t band = row / c["band"];
    const std::uint64_t m = FirstLogicalIndex(in, band) + row - band * c["band"];
    const std::uint64_t block =
        in.Elements<std::uint32_t>("block_tables")[band * c["table"] + m / 16];
    slots.push_back(static_cast<double>(block * 16 + m % 16));
  }
  return {{"slots", Copied(std::move(slots))}};
}

void PrepareSlots(const OperationCase& c, OperandSet& operands) {
  const std::span<std::uint32_t> first = operands.MutableElements<std::uint32_t>("first");
  const std::span<std::uint32_t> tables = operands.MutableElements<std::uint32_t>("block_tables");
  for (std::size_t band = 0; band < first.size(); ++band) {
    first[band] = static_cast<std::uint32_t>(ContextOf(c.keys, band));
  }
  const std::vector<std::uint64_t> blocks =
      Shuffled(SeedOf(c.Id() + "/block_tables"), tables.size() + kSpareBlocks, tables.size());
  // High block ids, so that a 32-bit slot overflows (spec/drafter.md section 13, M11).
  constexpr std::uint64_t kFirstBlock = std::uint64_t{1} << 28;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i] = static_cast<std::uint32_t>(kFirstBlock + blocks[i]);
  }
}

// ---- kv_write

template <typename N>
OperandValues WriteReference(const OperationCase& c, const OperandSet& in) {
  using Storage = typename N::Storage;
  const std::size_t width = c["kv"] * c["d"];
  std::vector<Storage> k_pool = Stored<N>(in, "k_pool"), v_pool = Stored<N>(in, "v_pool");
  const std::vector<Storage> k = Stored<N>(in, "k"), v = Stored<N>(in, "v");
  reference::PagedCache<Storage> cache(1, c["blocks"], width, k_pool.data(), v_pool.data());
  const std::span<const std::int64_t> slots = in.Elements<std::int64_t>("slots");
  for (std::size_t row = 0; row < slots.size(); ++row) {
    cache.Write(0, slots[row], {k.data() + row * width, width}, {v.data() + row * width, width});
  }
  return {{"k_pool", Loaded<N>(k_pool)}, {"v_pool", Loaded<N>(v_pool)}};
}

OracleValues WriteOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::size_t width = c["kv"] * c["d"];
  OracleValues result;
  for (const auto& [rows, pool] : {std::pair("k", "k_pool"), std::pair("v", "v_pool")}) {
    std::vector<double> values = Doubles(in, pool);
    const std::vector<double> source = Doubles(in, rows);
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::int64_t slot = in.Elements<std::int64_t>("slots")[i / width];
      if (slot >= 0) values[static_cast<std::size_t>(slot) * width + i % width] = source[i];
    }
    result[pool] = Copied(std::move(values));
  }
  return result;
}

// Different slots; the last row of every five is skipped.
constexpr std::uint64_t kSkippedRow = 5;

void PrepareWrite(const OperationCase& c, OperandSet& operands) {
  const std::span<std::int64_t> slots = operands.MutableElements<std::int64_t>("slots");
  const std::vector<std::uint64_t> order =
      Shuffled(SeedOf(c.Id() + "/slots"), c["blocks"] * kPageRows, slots.size());
  for (std::size_t row = 0; row < slots.size(); ++row) {
    slots[row] = row % kSkippedRow == kSkippedRow - 1 ? -1 : static_cast<std::int64_t>(order[row]);
  }
}

// ---- paged_attention

reference::Visibility VisibilityOf(const OperationCase& c) {
  return {.causal = c["causal"] == 1,
          .sliding = c["window"] > 0,
          .window = static_cast<std::int64_t>(c["window"])};
}

template <typename N>
OperandValues AttentionReference(const OperationCase& c, const OperandSet& in) {
  using Storage = typename N::Storage;
  std::vector<Storage> k_pool = Stored<N>(in, "k_pool"), v_pool = Stored<N>(in, "v_pool");
  const reference::PagedCache<Storage> cache(1, c["pool"], c["kv"] * c["d"], k_pool.data(),
                                             v_pool.data());
  const std::span<const std::uint32_t> arguments = in.Elements<std::uint32_t>("arguments");
  const std::int64_t first = static_cast<std::int64_t>(arguments[2]) - arguments[1];
  std::vector<std::int64_t> keys(arguments[0]), rows(c["rows"]);
  std::iota(keys.begin(), keys.end(), first);
  std::iota(rows.begin(), rows.end(), static_cast<std::int64_t>(arguments[2]));
  const reference::AttentionShape shape = {c["heads"], c["kv"], c["d"],
                                           in.Elements<BFloat16>("sinks")};
  std::vector<Storage> out(c["rows"] * c["heads"] * c["d"]);
  reference::PagedAttention<N>(Stored<N>(in, "q"), shape, cache, 0,
                               in.Elements<std::uint32_t>("block_table"), rows, keys,
                               VisibilityOf(c), out);
  return {{"out", Loaded<N>(out)}};
}

OracleValues AttentionOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> q = Doubles(in, "q"), k = Doubles(in, "k_pool"),
                            v = Doubles(in, "v_pool"), sinks = Doubles(in, "sinks");
  const std::span<const std::uint32_t> table = in.Elements<std::uint32_t>("block_table");
  const std::size_t heads = c["heads"], kv = c["kv"], d = c["d"], keys = c["ctx"] + c["rows"];
  OracleTensor out;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    for (std::size_t head = 0; head < heads; ++head) {
      // Distances in positions equal distances in logical indices here: the history has no gap.
      double denominator = sinks.empty() ? 0 : std::exp(sinks[head]);
      std::vector<double> numerator(d, 0);
      for (std::size_t m = 0; m < keys; ++m) {
        const auto behind =
            static_cast<std::int64_t>(c["ctx"] + row) - static_cast<std::int64_t>(m);
        if (c["causal"] == 1 && behind < 0) continue;
        if (c["window"] > 0 && std::abs(behind) >= static_cast<std::int64_t>(c["window"])) continue;
        const std::size_t at = ((table[m / 16] * 16 + m % 16) * kv + head * kv / heads) * d;
        double score = 0;
        for (std::size_t e = 0; e < d; ++e) score += q[(row * heads + head) * d + e] * k[at + e];
        const double p = std::exp(score / std::sqrt(static_cast<double>(d)));
        denominator += p;
        for (std::size_t e = 0; e < d; ++e) {
          numerator[e] += p * v[at + e];
          out.largest_value = std::max(out.largest_value, std::abs(v[at + e]));
        }
      }
      for (const double sum : numerator) out.values.push_back(sum / denominator);
    }
  }
  return {{"out", std::move(out)}};
}

// Keys that decide a row: aligned with the query of one of its heads, so that the softmax is all
// theirs. At the ends of the cache, and on both sides of a window's border: a key that is left out,
// or let in, changes the output as a whole, whatever the length of the context.
std::vector<std::int64_t> DecidingKeys(const OperationCase& c, std::size_t row) {
  const auto keys = static_cast<std::int64_t>(c["keys"]);
  const auto own = static_cast<std::int64_t>(c["ctx"] + row);
  const auto window = static_cast<std::int64_t>(c["window"]);
  std::vector<std::int64_t> wanted;
  if (window > 0) {
    wanted = {own - window + 1, own - window, own + window - 1, own + window};
  } else {
    // The last one, the first one, then anywhere.
    const std::uint64_t anywhere = BitsAt(SeedOf(c.Id() + "/deciding"), row) % c["keys"];
    wanted = {row == 0 ? keys - 1 : row == 1 ? 0 : static_cast<std::int64_t>(anywhere), own + 1};
  }
  std::erase_if(wanted, [&](std::int64_t m) { return m < 0 || m >= keys; });
  return wanted;
}

void PlaceDecidingKeys(const OperationCase& c, OperandSet& operands) {
  const std::span<const BFloat16> q = operands.Elements<BFloat16>("q");
  const std::span<const std::uint32_t> table = operands.Elements<std::uint32_t>("block_table");
  const std::span<BFloat16> k = operands.MutableElements<BFloat16>("k_pool");
  const std::size_t heads = c["heads"], kv = c["kv"], d = c["d"], group = heads / kv;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    for (const std::int64_t m : DecidingKeys(c, row)) {
      const auto slot = static_cast<std::size_t>(SlotOf(table, static_cast<std::uint64_t>(m)));
      for (std::size_t g = 0; g < kv; ++g) {
        const std::size_t head = g * group + row % group;
        for (std::size_t e = 0; e < d; ++e) {
          k[(slot * kv + g) * d + e] =
              BFloat16::FromDouble(1.5 * q[(row * heads + head) * d + e].ToDouble());
        }
      }
    }
  }
}

void PrepareAttention(const OperationCase& c, OperandSet& operands) {
  const std::span<std::uint32_t> arguments = operands.MutableElements<std::uint32_t>("arguments");
  arguments[0] = static_cast<std::uint32_t>(c["ctx"] + c["rows"]);
  arguments[1] = static_cast<std::uint32_t>(c["ctx"]);
  arguments[2] = static_cast<std::uint32_t>(c["ctx"] + kPositionOffset);
  const std::span<std::uint32_t> table = operands.MutableElements<std::uint32_t>("block_table");
  const std::vector<std::uint64_t> blocks =
      Shuffled(SeedOf(c.Id() + "/block_table"), c["pool"], table.size());
  std::copy(blocks.begin(), blocks.end(), table.begin());
  // Only the rows below kv_len hold numbers; whoever reads beyond meets the poison's NaN.
  const std::size_t width = c["kv"] * c["d"];
  for (const char* const pool : {"k_pool", "v_pool"}) {
    const std::span<BFloat16> values = operands.MutableElements<BFloat16>(pool);
    const std::uint64_t seed = SeedOf(c.Id() + "/" + pool);
    for (std::size_t m = 0; m < arguments[0]; ++m) {
      const auto slot = static_cast<std::size_t>(SlotOf(table, m));
      for (std::size_t i = slot * width; i < (slot + 1) * width; ++i) {
        values[i] = BFloat16::FromDouble(4 * UniformAt(seed, i) - 2);
      }
    }
  }
  PlaceDecidingKeys(c, operands);
}

// Pairs of a row and a key that it sees.
std::uint64_t VisiblePairs(const ShapeKeys& k) {
  std::uint64_t pairs = 0;
  for (std::uint64_t row = 0; row < k["rows"]; ++row) {
    const std::uint64_t own = k["ctx"] + row;
    const std::uint64_t window = k["window"];
    const std::uint64_t first = window > 0 && own >= window ? own - window + 1 : 0;
    std::uint64_t end = k["causal"] == 1 ? own + 1 : k["keys"];
    if (window > 0) end = std::min(end, own + window);
    pairs += end - first;
  }
  return pairs;
}

double AttentionFlops(const ShapeKeys& k) {
  return 4.0 * static_cast<double>(k["heads"] * k["d"]) * static_cast<double>(k["pairs"]);
}

Operation SlotFill() {
  Operation slot;
  slot.name = "slot_fill";
  slot.summary = "cache slots of the block rows of each band, from its table and context length";
  slot.rule = "3.8, 8";
  slot.keys = {"rows", "band", "ctx"};
  slot.zero_ok = {"ctx"};
  slot.operands = {{"block_tables",
                    OperandRole::kInput,
                    DType::kU32,
                    {"bands", "table"},
                    Fill::kPrepared,
                    {},
                    {},
                    "pages"},
                   {"first", OperandRole::kInput, DType::kU32, {"bands"}, Fill::kPrepared},
                   {"slots", OperandRole::kOutput, DType::kI64, {"rows"}}};
  slot.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kBandDividesRows,
                      ShapeConstraint::kContextInReach};
  slot.violations = {{ShapeConstraint::kPositive, {0, 1, 8}},
                     {ShapeConstraint::kContextInReach, {1, 1, UINT64_MAX}},
                     {ShapeConstraint::kBandDividesRows, {8, 3, 8}}};
  slot.derive = [](ShapeKeys& k) {
    k.Derive("bands", k["rows"] / k["band"]);
    k.Derive("table", (k["ctx"] + k["band"] + kPageRows - 1) / kPageRows);
    k.Derive("pages", PagesOfBlocks(k));
  };
  slot.prepare = PrepareSlots;
  slot.reference = DM_REFERENCE(SlotReference);
  slot.oracle = SlotOracle;
  slot.tolerance = ExactModel;
  slot.flops = NoFlops;
  slot.boundary = {{1, 1, 0},   {16, 16, 15},   {16, 16, 16},    {17, 17, 17},
                   {32, 8, 40}, {128, 16, 100}, {128, 16, 16384}};
  return slot;
}

Operation KvWrite() {
  Operation write;
  write.name = "kv_write";
  write.summary = "copies K and V rows into cache slots; a negative slot skips its row";
  write.rule = "3.8";
  write.keys = {"rows", "kv", "d", "blocks"};
  write.operands = {{"k",
                     OperandRole::kInput,
                     DType::kBF16,
                     {"rows", "kv", "d"},
                     Fill::kActivation,
                     {},
                     {},
                     "written*kv*d"},
                    {"v",
                     OperandRole::kInput,
                     DType::kBF16,
                     {"rows", "kv", "d"},
                     Fill::kActivation,
                     {},
                     {},
                     "written*kv*d"},
                    {"slots", OperandRole::kInput, DType::kI64, {"rows"}, Fill::kPrepared},
                    {"k_pool",
                     OperandRole::kInOut,
                     DType::kBF16,
                     {"blocks", "16", "kv", "d"},
                     Fill::kActivation,
                     {},
                     {},
                     "written*kv*d"},
                    {"v_pool",
                     OperandRole::kInOut,
                     DType::kBF16,
                     {"blocks", "16", "kv", "d"},
                     Fill::kActivation,
                     {},
                     {},
                     "written*kv*d"}};
  write.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kRowsFitPool};
  write.extremes = {{"k", 127}, {"v", 127}, {"k_pool", 127}, {"v_pool", 127}};
  write.violations = {{ShapeConstraint::kPositive, {1, 0, 8, 1}},
                      {ShapeConstraint::kRowsFitPool, {17, 1, 8, 1}}};
  write.derive = [](ShapeKeys& k) { k.Derive("written", k["rows"] - k["rows"] / kSkippedRow); };
  write.prepare = PrepareWrite;
  write.reference = DM_REFERENCE(WriteReference);
  write.oracle = WriteOracle;
  write.tolerance = ExactModel;
  write.flops = NoFlops;
  write.boundary = {{1, 1, 1, 1},   {15, 2, 8, 1},  {16, 2, 8, 1}, {17, 2, 8, 2},
                    {5, 1, 127, 1}, {6, 1, 128, 1}, {2, 8, 128, 1}};
  return write;
}

Operation PagedAttention() {
  Operation attention;
  attention.name = "paged_attention";
  attention.summary = "block rows over the paged cache: full or sliding, causal or not, sinks";
  attention.rule = "4.4, 4.5";
  attention.keys = {"rows", "heads", "kv", "d", "ctx", "window", "causal", "sink"};
  attention.flags = {"causal", "sink"};
  attention.zero_ok = {"ctx", "window"};  // an empty context; no window
  attention.operands = {
      {"q", OperandRole::kInput, DType::kBF16, {"rows", "heads", "d"}, Fill::kActivation},
      {"k_pool",
       OperandRole::kInput,
       DType::kBF16,
       {"pool", "16", "kv", "d"},
       Fill::kPoison,
       {},
       {},
       "seen*kv*d"},
      {"v_pool",
       OperandRole::kInput,
       DType::kBF16,
       {"pool", "16", "kv", "d"},
       Fill::kPoison,
       {},
       {},
       "seen*kv*d"},
      {"block_table", OperandRole::kInput, DType::kU32, {"table"}, Fill::kPrepared},
      {"arguments", OperandRole::kInput, DType::kU32, {"3"}, Fill::kPrepared},
      {"sinks", OperandRole::kInput, DType::kBF16, {"heads"}, Fill::kActivation, {}, "sink"},
      {"out", OperandRole::kOutput, DType::kBF16, {"rows", "heads", "d"}}};
  attention.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kFlags,
                           ShapeConstraint::kKvHeadsDivideHeads, ShapeConstraint::kContextInReach};
  // Larger scores than those of unit queries and keys say nothing more: the softmax is all one key.
  attention.extremes = {{"q", 0}, {"k_pool", 0}, {"v_pool", 100}, {"sinks", 3, true}};
  attention.violations = {{ShapeConstraint::kPositive, {0, 2, 1, 8, 4, 0, 0, 0}},
                          {ShapeConstraint::kFlags, {1, 2, 1, 8, 4, 0, 2, 0}},
                          {ShapeConstraint::kKvHeadsDivideHeads, {1, 3, 2, 8, 4, 0, 0, 0}},
                          {ShapeConstraint::kContextInReach, {1, 1, 1, 8, UINT64_MAX, 0, 0, 0}},
                          {ShapeConstraint::kContextInReach, {1, 1, 1, 8, 20, UINT64_MAX, 0, 0}}};
  attention.derive = [](ShapeKeys& k) {
    k.Derive("keys", k["ctx"] + k["rows"]);
    // All rows together: from the first row's window to the last row.
    k.Derive("seen",
             k["window"] == 0 ? k["keys"] : std::min(k["keys"], k["rows"] + k["window"] - 1));
    k.Derive("pairs", VisiblePairs(k));
    k.Derive("table", (k["keys"] + kPageRows - 1) / kPageRows);
    k.Derive("pool", k["table"] + kSpareBlocks);
  };
  attention.prepare = PrepareAttention;
  attention.reference = DM_REFERENCE(AttentionReference);
  attention.oracle = AttentionOracle;
  attention.tolerance = [](const ShapeKeys&, std::string_view) {
    return AttentionModel(ProbabilityType::kF32);
  };
  attention.flops = AttentionFlops;
  attention.boundary = {{1, 1, 1, 1, 0, 0, 0, 0},         {7, 8, 2, 64, 9, 0, 0, 0},
                        {8, 4, 1, 128, 15, 8, 0, 0},      {16, 9, 3, 32, 16, 0, 1, 0},
                        {17, 5, 1, 64, 17, 16, 1, 0},     {33, 4, 2, 32, 127, 64, 0, 0},
                        {16, 6, 2, 16, 128, 0, 0, 1},     {8, 8, 2, 64, 129, 61, 1, 1},
                        {40, 2, 1, 16, 24, 0, 0, 0},      {4, 4, 4, 128, 509, 128, 0, 0},
                        {2, 4, 1, 128, 4101, 4096, 1, 0}, {1, 8, 1, 128, 16384, 0, 0, 0}};
  return attention;
}

}  // namespace

std::vector<Operation> CacheOperations() { return {SlotFill(), KvWrite(), PagedAttention()}; }

}  // namespace draftmark::operations
