#include "src/base/failing_new.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

// A form of operator new with the delete that belongs to it.
struct Form {
  std::function<void*()> take;
  std::function<void(void*)> give;
};

// Calls of the functions themselves: a compiler may leave out what a new expression allocates.
std::vector<Form> Forms() {
  constexpr std::align_val_t kWide{256};
  const auto plain = [](void* p) { ::operator delete(p); };
  const auto array = [](void* p) { ::operator delete[](p); };
  const auto wide = [=](void* p) { ::operator delete(p, kWide); };
  const auto wide_array = [=](void* p) { ::operator delete[](p, kWide); };
  return {{[] { return ::operator new(24); }, plain},
          {[] { return ::operator new(0); }, plain},
          {[] { return ::operator new[](24); }, array},
          {[] { return ::operator new(24, std::nothrow); }, plain},
          {[] { return ::operator new[](24, std::nothrow); }, array},
          {[=] { return ::operator new(24, kWide); }, wide},
          {[=] { return ::operator new[](24, kWide); }, wide_array},
          {[=] { return ::operator new(24, kWide, std::nothrow); }, wide},
          {[=] { return ::operator new[](24, kWide, std::nothrow); }, wide_array},
          // These deletes are for a constructor that throws.
          {[] { return ::operator new(24, std::nothrow); },
           [](void* p) { ::operator delete(p, std::nothrow); }},
          {[] { return ::operator new[](24, std::nothrow); },
           [](void* p) { ::operator delete[](p, std::nothrow); }},
          {[=] { return ::operator new(24, kWide, std::nothrow); },
           [=](void* p) { ::operator delete(p, kWide, std::nothrow); }},
          {[=] { return ::operator new[](24, kWide, std::nothrow); },
           [=](void* p) { ::operator delete[](p, kWide, std::nothrow); }}};
}

TEST(FailingNewTest, EveryFormIsCountedAndFails) {
  const std::vector<Form> forms = Forms();
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const HostAllocations before = CountHostAllocations();
    void* memory = forms[i].take();
    const HostAllocations during = CountHostAllocations();
    forms[i].give(memory);
    const HostAllocations after = CountHostAllocations();
    EXPECT_NE(memory, nullptr) << i;
    EXPECT_EQ(during.live, before.live + 1) << i;
    EXPECT_EQ(during.made, before.made + 1) << i;
    EXPECT_EQ(after.live, before.live) << i;

    bool refused = false;
    FailHostAllocation(1);
    try {
      memory = forms[i].take();
      refused = memory == nullptr;
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    EXPECT_TRUE(StopFailing()) << i;
    EXPECT_TRUE(refused) << i;
    if (!refused) forms[i].give(memory);
    EXPECT_EQ(CountHostAllocations().live, before.live) << i;
  }
}

TEST(FailingNewTest, OnlyTheOneOfThatNumberFails) {
  FailHostAllocation(2);
  void* const first = ::operator new(8);
  void* const second = ::operator new(8, std::nothrow);
  void* const third = ::operator new(8, std::nothrow);
  EXPECT_TRUE(StopFailing());
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(second, nullptr);
  EXPECT_NE(third, nullptr);
  ::operator delete(first);
  ::operator delete(third);
  FailHostAllocation(1'000'000);
  EXPECT_FALSE(StopFailing());
}

TEST(FailingNewTest, WideMemoryIsAligned) {
  for (const std::size_t alignment : {32u, 256u, 4096u}) {
    const std::align_val_t wide{alignment};
    void* const memory = ::operator new(3, wide, std::nothrow);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
    ::operator delete(memory, wide);
  }
}

}  // namespace
}  // namespace draftmark
