#include "runtime/Base/Crypto.h"
#include "runtime/Base/Plugin.h"

namespace zc {

Result<Crypto> Crypto::open() {
  ZC_ASSIGN_OR_RETURN(PluginLibrary library,
                      openPlugin("crypto", "signatures and tokens"));
  auto find = reinterpret_cast<CryptoFunction>(library.symbol(kCryptoSymbol));
  const CryptoFunctions *functions = find ? find() : nullptr;
  if (!functions || functions->version != kCryptoVersion)
    return makeError(StatusCode::Unsupported, "'", library.path,
                     "' comes from another build of zc, or cannot start");
  return Crypto(*functions);
}

Hash256 Crypto::random() const {
  Hash256 bytes;
  functions->random(bytes.data(), bytes.size());
  return bytes;
}

Hash256 Crypto::sha256(std::string_view data) const {
  Hash256 hash;
  functions->sha256(hash.data(), data.data(), data.size());
  return hash;
}

Hash256 Crypto::authenticate(std::string_view data,
                             std::string_view secret) const {
  const Hash256 key = sha256(secret);
  Hash256 tag;
  functions->authenticate(tag.data(), data.data(), data.size(), key.data());
  return tag;
}

PublicKey Crypto::publicKey(const Seed &seed) const {
  PublicKey key;
  functions->publicKey(key.data(), seed.data());
  return key;
}

Signature Crypto::sign(std::string_view data, const Seed &seed) const {
  Signature signature;
  functions->sign(signature.data(), data.data(), data.size(), seed.data());
  return signature;
}

bool Crypto::verify(const Signature &signature, std::string_view data,
                    const PublicKey &key) const {
  return functions->verify(signature.data(), data.data(), data.size(),
                           key.data());
}

bool areEqual(const Hash256 &left, const Hash256 &right) {
  uint8_t different = 0;
  for (size_t i = 0; i < left.size(); ++i)
    different |= left[i] ^ right[i];
  return different == 0;
}

std::string toHex(const uint8_t *bytes, size_t count) {
  constexpr const char *kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  return text;
}

static int digitOf(char letter) {
  if (letter >= '0' && letter <= '9')
    return letter - '0';
  if (letter >= 'a' && letter <= 'f')
    return letter - 'a' + 10;
  return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

bool fromHex(std::string_view text, uint8_t *bytes, size_t count) {
  if (text.size() != 2 * count)
    return false;
  for (size_t i = 0; i < count; ++i) {
    const int high = digitOf(text[2 * i]), low = digitOf(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    bytes[i] = uint8_t(high * 16 + low);
  }
  return true;
}

} // namespace zc
