#include "src/base/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "src/base/check.h"

namespace draftmark {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free};
};

// Only a lack of memory makes these calls fail.
Sha256::Sha256() : state_(std::make_unique<State>()) {
  DM_CHECK(state_->context != nullptr);
  DM_CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  DM_CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Finish() {
  std::array<unsigned char, 32> digest;
  DM_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) == 1);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string Sha256Hex(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.Update(bytes);
  return digest.Finish();
}

}  // namespace draftmark
