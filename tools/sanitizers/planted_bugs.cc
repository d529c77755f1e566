#include "tools/sanitizers/planted_bugs.h"

#include <limits>
#include <thread>

namespace draftmark {

int ReadBehindHeapBlock() {
  volatile int size = 8;
  volatile unsigned char* const block = new unsigned char[static_cast<unsigned>(size)]();
  const int value = block[size];
  delete[] block;
  return value;
}

void LeakHeapBlock() {
  char* volatile block = new char[100];
  block[0] = 1;
  block = nullptr;
}

int OverflowSignedInt() {
  volatile int value = std::numeric_limits<int>::max();
  value = value + 1;
  return value;
}

int RaceOnVariable() {
  volatile int value = 0;
  std::thread other([&value] { value = 1; });
  value = 2;
  other.join();
  return value;
}

}  // namespace draftmark
