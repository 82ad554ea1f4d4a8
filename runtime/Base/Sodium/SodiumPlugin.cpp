#include "runtime/Base/Crypto.h"

#include <sodium.h>

namespace zc {
namespace {

struct Pair {
  unsigned char open[crypto_sign_PUBLICKEYBYTES];
  unsigned char secret[crypto_sign_SECRETKEYBYTES];

  explicit Pair(const uint8_t *seed) {
    crypto_sign_seed_keypair(open, secret, seed);
  }
  ~Pair() { sodium_memzero(secret, sizeof(secret)); }
};

const unsigned char *bytesOf(const char *data) {
  return reinterpret_cast<const unsigned char *>(data);
}

constexpr CryptoFunctions kFunctions = {
    kCryptoVersion,
    [](uint8_t *bytes, size_t count) { randombytes_buf(bytes, count); },
    [](uint8_t *hash, const char *data, size_t bytes) {
      crypto_hash_sha256(hash, bytesOf(data), bytes);
    },
    [](uint8_t *tag, const char *data, size_t bytes, const uint8_t *key) {
      crypto_auth_hmacsha256(tag, bytesOf(data), bytes, key);
    },
    [](uint8_t *key, const uint8_t *seed) {
      const Pair pair(seed);
      for (size_t i = 0; i < sizeof(pair.open); ++i)
        key[i] = pair.open[i];
    },
    [](uint8_t *signature, const char *data, size_t bytes,
       const uint8_t *seed) {
      crypto_sign_detached(signature, nullptr, bytesOf(data), bytes,
                           Pair(seed).secret);
    },
    [](const uint8_t *signature, const char *data, size_t bytes,
       const uint8_t *key) {
      return crypto_sign_verify_detached(signature, bytesOf(data), bytes,
                                         key) == 0;
    }};

static_assert(crypto_sign_BYTES == sizeof(Signature) &&
                  crypto_sign_PUBLICKEYBYTES == sizeof(PublicKey) &&
                  crypto_sign_SEEDBYTES == sizeof(Seed) &&
                  crypto_auth_hmacsha256_BYTES == sizeof(Hash256) &&
                  crypto_auth_hmacsha256_KEYBYTES == sizeof(Hash256),
              "Ed25519 and SHA-256");

} // namespace
} // namespace zc

extern "C" __attribute__((visibility("default"))) const zc::CryptoFunctions *
zcCrypto() {
  return sodium_init() < 0 ? nullptr : &zc::kFunctions;
}
