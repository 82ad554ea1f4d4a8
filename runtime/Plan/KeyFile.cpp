#include "runtime/Plan/KeyFile.h"
#include "runtime/Base/File.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

namespace {

constexpr size_t kMostBytes = 64 * 1024;
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes before the 32 bytes of a key in DER.
struct Kind {
  const char *label;
  std::string_view prefix;
};
using namespace std::string_view_literals;
constexpr Kind kPrivate = {
    "PRIVATE KEY",
    "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"sv};
constexpr Kind kPublic = {"PUBLIC KEY",
                          "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"sv};

std::string encode(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : kLetters[bits >> (18 - 6 * k) & 63];
  }
  return text;
}

/// Nothing where a letter is none of base 64.
std::string decode(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char letter : text) {
    const size_t value = kLetters.find(letter);
    if (std::isspace(static_cast<unsigned char>(letter)) || letter == '=')
      continue;
    if (value == std::string_view::npos)
      return "";
    bits = bits << 6 | uint32_t(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += char(bits >> count & 255);
    }
  }
  return bytes;
}

std::string mark(const char *which, const Kind &kind) {
  return strCat("-----", which, " ", kind.label, "-----");
}

Result<std::array<uint8_t, 32>> readKey(const std::string &path,
                                        const Kind &kind) {
  ZC_ASSIGN_OR_RETURN(std::string text, readFile(path, kMostBytes));
  const std::string first = mark("BEGIN", kind), last = mark("END", kind);
  const size_t begin = text.find(first), end = text.find(last);
  std::string bytes;
  if (begin != std::string::npos && end != std::string::npos && begin < end)
    bytes =
        decode(text.substr(begin + first.size(), end - begin - first.size()));
  std::array<uint8_t, 32> key;
  if (bytes.size() != kind.prefix.size() + key.size() ||
      bytes.compare(0, kind.prefix.size(), kind.prefix) != 0)
    return makeError(StatusCode::InvalidArgument, "'", path,
                     "' holds no Ed25519 key: expected '", first,
                     "', as zc sign --new-key or openssl genpkey -algorithm "
                     "ed25519 writes it");
  std::memcpy(key.data(), bytes.data() + kind.prefix.size(), key.size());
  return key;
}

std::string print(const Kind &kind, const std::array<uint8_t, 32> &key) {
  std::string bytes(kind.prefix);
  bytes.append(reinterpret_cast<const char *>(key.data()), key.size());
  return mark("BEGIN", kind) + "\n" + encode(bytes) + "\n" + mark("END", kind) +
         "\n";
}

Status writeNew(const std::string &path, const std::string &text, int mode) {
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0)
    return errnoError("cannot write key '" + path + "'");
  Status status = writeAll(descriptor, text.data(), text.size(), path);
  ::close(descriptor);
  return status;
}

} // namespace

Result<Seed> readPrivateKey(const std::string &path) {
  ZC_ASSIGN_OR_RETURN(const Seed seed, readKey(path, kPrivate));
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 077) != 0)
    return makeError(StatusCode::InvalidArgument, "'", path,
                     "' holds a private key that others may read; chmod 600 "
                     "takes that away");
  return seed;
}

Result<PublicKey> readPublicKey(const std::string &path) {
  return readKey(path, kPublic);
}

Status writeNewKeys(const Crypto &crypto, const std::string &path) {
  const Seed seed = crypto.random();
  // A public key that is there belongs to a private one, perhaps elsewhere.
  struct stat info;
  if (::lstat((path + ".pub").c_str(), &info) == 0)
    return errnoError("cannot write key '" + path + ".pub'", EEXIST);
  ZC_RETURN_IF_ERROR(writeNew(path, print(kPrivate, seed), 0600));
  Status written =
      writeNew(path + ".pub", print(kPublic, crypto.publicKey(seed)), 0644);
  if (!written.ok())
    ::unlink(path.c_str()); // one alone is of no use
  return written;
}

} // namespace zc
