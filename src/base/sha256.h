// SHA-256 (FIPS 180-4), by OpenSSL's libcrypto.
//
//   Sha256Hex(std::as_bytes(std::span("abc", 3)))   // "ba7816bf...f20015ad"
//
// Thread-safe; one Sha256 object belongs to one thread.
#ifndef DRAFTMARK_SRC_BASE_SHA256_H_
#define DRAFTMARK_SRC_BASE_SHA256_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace draftmark {

// The digest of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::span<const std::byte> bytes);
  // 64 lower-case hexadecimal digits; ends the computation.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Hex(std::span<const std::byte> bytes);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_SHA256_H_
