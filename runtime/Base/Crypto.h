// Hashes and signatures, of libsodium, which a plugin brings: programs that
// need none start without it.
#ifndef ZC_RUNTIME_BASE_CRYPTO_H
#define ZC_RUNTIME_BASE_CRYPTO_H

#include "runtime/Base/Status.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace zc {

using Hash256 = std::array<uint8_t, 32>;
using Seed = std::array<uint8_t, 32>;      // of an Ed25519 key pair; secret
using PublicKey = std::array<uint8_t, 32>; // Ed25519's
using Signature = std::array<uint8_t, 64>; // Ed25519's

// The plugin `libzc_crypto.so` has one function, kCryptoSymbol, of the type
// CryptoFunction; where the library cannot start, it returns null.
constexpr int kCryptoVersion = 1;
constexpr const char *kCryptoSymbol = "zcCrypto";
struct CryptoFunctions {
  int version;
  void (*random)(uint8_t *bytes, size_t count);
  void (*sha256)(uint8_t *hash, const char *data, size_t bytes);
  /// HMAC-SHA-256 with a key of 32 bytes.
  void (*authenticate)(uint8_t *tag, const char *data, size_t bytes,
                       const uint8_t *key);
  void (*publicKey)(uint8_t *key, const uint8_t *seed);
  void (*sign)(uint8_t *signature, const char *data, size_t bytes,
               const uint8_t *seed);
  bool (*verify)(const uint8_t *signature, const char *data, size_t bytes,
                 const uint8_t *key);
};
using CryptoFunction = const CryptoFunctions *(*)();

class Crypto {
public:
  /// Opens the plugin; fails where this build or this machine has none.
  static Result<Crypto> open();

  Hash256 random() const;
  Hash256 sha256(std::string_view data) const;
  /// A tag of `data` that only those can make who know `secret`.
  Hash256 authenticate(std::string_view data, std::string_view secret) const;
  PublicKey publicKey(const Seed &seed) const;
  Signature sign(std::string_view data, const Seed &seed) const;
  bool verify(const Signature &signature, std::string_view data,
              const PublicKey &key) const;

private:
  explicit Crypto(const CryptoFunctions &functions) : functions(&functions) {}
  const CryptoFunctions *functions;
};

/// Whether both are equal, in a time that does not say where they differ.
bool areEqual(const Hash256 &left, const Hash256 &right);

/// Lower-case hexadecimal digits.
std::string toHex(const uint8_t *bytes, size_t count);
/// The bytes of exactly 2 * `count` hexadecimal digits; false: they are none.
bool fromHex(std::string_view text, uint8_t *bytes, size_t count);

} // namespace zc

#endif // ZC_RUNTIME_BASE_CRYPTO_H
