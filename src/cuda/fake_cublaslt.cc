// Stands for a cuBLASLt of version FAKE_VERSION that has no function but this one.
#include <cublasLt.h>

std::size_t cublasLtGetVersion() { return FAKE_VERSION; }
