// Hostile tables of a plug-in. The table is made of the input: every number is its bytes, every
// string and list lies in an allocation of exactly its length, so that a read past its end is seen,
// and pointers are to those or null. (Pointers to nowhere cannot be told from others:
// plugin_table.h.)
//
// A table that is taken is as plugin_table.h says, and its parts can be asked for every operation
// of the registry.
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "kernels/plugin/plugin_table.h"
#include "src/base/fuzzing/fuzz_expect.h"
#include "src/operations/registry.h"

namespace draftmark::plugin {
namespace {

draftmark_result Run(const draftmark_call*, draftmark_message*) { return DRAFTMARK_OK; }
draftmark_result Query(const draftmark_call*, std::uint64_t*, draftmark_message*) {
  return DRAFTMARK_OK;
}
draftmark_result Create(const draftmark_session_options*, void**, draftmark_message*) {
  return DRAFTMARK_OK;
}
draftmark_result Append(void*, std::uint32_t, const std::uint16_t*, const std::int32_t*,
                        std::uint64_t, draftmark_message*) {
  return DRAFTMARK_OK;
}
draftmark_result Drop(void*, std::uint32_t, std::uint64_t, draftmark_message*) {
  return DRAFTMARK_OK;
}
draftmark_result Reset(void*, std::uint32_t, draftmark_message*) { return DRAFTMARK_OK; }
draftmark_result Propose(void*, const draftmark_block* const*, std::uint32_t,
                         const draftmark_stage_sink*, draftmark_message*) {
  return DRAFTMARK_OK;
}
void Destroy(void*) {}

// Makes a table of bytes. Each choice is one byte, so that a mutation changes one thing.
class TableMaker {
 public:
  explicit TableMaker(std::string_view bytes) : bytes_(bytes) {}

  const draftmark_plugin* Make() {
    if (bytes_.Byte() == 0xff) return nullptr;
    plugin_ = std::make_unique<draftmark_plugin>();
    plugin_->struct_size = Size(sizeof(draftmark_plugin));
    plugin_->abi = Usual(DRAFTMARK_PLUGIN_ABI);
    plugin_->name = String();
    plugin_->version = String();
    plugin_->device = static_cast<draftmark_device>(Usual(DRAFTMARK_CPU));
    plugin_->architectures = List(architectures_, plugin_->architecture_count,
                                  [&] { return static_cast<std::uint32_t>(Usual(90)); });
    plugin_->operations = List(operations_, plugin_->operation_count, [&] { return Operation(); });
    plugin_->session = Session();
    return plugin_.get();
  }

 private:
  // Mostly the value that is right, so that what comes after it is reached.
  std::uint32_t Usual(std::uint32_t value) {
    const std::uint8_t choice = bytes_.Byte();
    if (choice < 0xc0) return value;
    return choice < 0xf0 ? choice - 0xc0u : static_cast<std::uint32_t>(bytes_.U64());
  }
  std::uint32_t Size(std::size_t right) { return Usual(static_cast<std::uint32_t>(right)); }
  bool Null() { return bytes_.Byte() == 0xff; }

  // Ended by a NUL, but for one that begins with 0xFE: then the allocation ends with its last
  // character. Such a one has at least the characters that a reader may look at.
  const char* String() {
    if (Null()) return nullptr;
    std::string text = bytes_.Until('\n');
    const bool ended = !text.starts_with('\xfe');
    if (!ended)
      text.resize(std::max<std::size_t>(text.size(), DRAFTMARK_PLUGIN_LONGEST_NAME + 1), 'x');
    auto& kept = strings_.emplace_back(text.begin(), text.end());
    if (ended) kept.push_back('\0');
    kept.shrink_to_fit();
    return kept.data();
  }

  // The count is mostly that of the list.
  template <typename T, typename Maker>
  const T* List(std::deque<std::vector<T>>& keep, std::uint32_t& count, const Maker& make) {
    std::vector<T>& list = keep.emplace_back();
    for (std::uint8_t left = bytes_.Byte() % 8; left > 0; --left) list.push_back(make());
    list.shrink_to_fit();
    count = static_cast<std::uint32_t>(list.size());
    const std::uint8_t choice = bytes_.Byte();
    if (choice < 0xf0) return list.data();
    // A longer count is refused by itself only where no list may be as long.
    count = choice % 2 == 0 ? UINT32_MAX - choice : count;
    return choice % 3 == 0 ? nullptr : list.data();
  }

  const draftmark_operation* Operation() {
    if (Null()) return nullptr;
    auto& operation = *operation_.emplace_back(std::make_unique<draftmark_operation>());
    operation.struct_size = Size(sizeof(operation));
    operation.id = String();
    operation.dtypes = bytes_.U64();
    operation.limits = List(limits_, operation.limit_count, [&] {
      draftmark_limit limit{String(), 0, 0};
      const std::uint64_t least = bytes_.U64(), most = bytes_.U64();
      std::memcpy(&limit.least, &least, sizeof least);
      std::memcpy(&limit.most, &most, sizeof most);
      return limit;
    });
    operation.query = Null() ? nullptr : Query;
    operation.run = Null() ? nullptr : Run;
    return &operation;
  }

  const draftmark_session_table* Session() {
    if (bytes_.Byte() % 2 == 0) return nullptr;
    session_ = std::make_unique<draftmark_session_table>();
    const std::uint8_t missing = bytes_.Byte();
    session_->struct_size = Size(sizeof(*session_));
    session_->create = missing == 1 ? nullptr : Create;
    session_->append_context = missing == 2 ? nullptr : Append;
    session_->drop_front = missing == 3 ? nullptr : Drop;
    session_->reset = missing == 4 ? nullptr : Reset;
    session_->propose = missing == 5 ? nullptr : Propose;
    session_->destroy = missing == 6 ? nullptr : Destroy;
    return session_.get();
  }

  FuzzBytes bytes_;
  std::unique_ptr<draftmark_plugin> plugin_;
  std::unique_ptr<draftmark_session_table> session_;
  std::deque<std::vector<char>> strings_;
  std::deque<std::vector<std::uint32_t>> architectures_;
  std::deque<std::vector<const draftmark_operation*>> operations_;
  std::deque<std::unique_ptr<draftmark_operation>> operation_;
  std::deque<std::vector<draftmark_limit>> limits_;
};

void CheckTaken(const PluginTable& table) {
  DM_CHECK(!table.name.empty() && table.name.size() <= DRAFTMARK_PLUGIN_LONGEST_NAME);
  DM_CHECK(!table.operations.empty() || table.session);
  DM_CHECK(table.device == PluginDevice::kCuda || table.architectures.empty());
  DM_CHECK(table.Describe().find('\n') == std::string::npos);
  (void)CheckArchitecture(table, 90);
  for (const PluginOperation& operation : table.operations) {
    DM_CHECK(operation.run != nullptr && operation.dtypes != 0);
    DM_CHECK(table.Find(operation.declaration->name) == &operation);
    for (const PluginLimit& limit : operation.limits) DM_CHECK(limit.least <= limit.most);
    for (const OperationCase& c : BoundaryCases(*operation.declaration)) {
      (void)OutsideTheTable(operation, c);
    }
  }
}

}  // namespace
}  // namespace draftmark::plugin

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  using namespace draftmark::plugin;
  TableMaker maker(TextOf(data, size));
  const StatusOr<PluginTable> table = ReadPluginTable(maker.Make());
  if (table.ok()) {
    CheckTaken(*table);
    return 0;
  }
  const bool null = table.status().message().starts_with("draftmark_plugin_entry returned NULL");
  return ExpectRefusal(table.status(), null ? "draftmark_plugin_entry" : "plug-in table: ",
                       {StatusCode::kInvalidArgument});
}
