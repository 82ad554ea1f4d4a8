// The numbers of the zip format that reader and writer share (PKWARE's
// APPNOTE 6.3).
#ifndef ZC_RUNTIME_PLAN_ZIPFORMAT_H
#define ZC_RUNTIME_PLAN_ZIPFORMAT_H

#include <cstdint>
#include <cstring>
#include <string>

namespace zc::zip {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kEnd64Locator = 0x07064b50;

constexpr uint64_t kLocalHeaderSize = 30;
constexpr uint64_t kCentralHeaderSize = 46;
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kEnd64LocatorSize = 20;

constexpr uint16_t kExtraZip64 = 0x0001;
constexpr uint16_t kExtraAlignment = 0xd935; // as Android's zipalign writes it

constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

constexpr uint64_t kAlignment = 64;

/// Little-endian integers, whatever the host.
template <typename T> T load(const char *at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |=
        static_cast<T>(static_cast<T>(static_cast<uint8_t>(at[i])) << (8 * i));
  return value;
}

template <typename T> void append(std::string &out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

} // namespace zc::zip

#endif // ZC_RUNTIME_PLAN_ZIPFORMAT_H
