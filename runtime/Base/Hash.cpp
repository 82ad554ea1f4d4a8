#include "runtime/Base/Hash.h"

#include <cstring>

namespace zc {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

template <typename Word> uint64_t read(const char *&at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  at += sizeof word;
  return word;
}

uint64_t mixWord(uint64_t lane, uint64_t word) {
  return rotate(lane + word * kPrime2, 31) * kPrime1;
}

uint64_t mergeLane(uint64_t hash, uint64_t lane) {
  return (hash ^ mixWord(0, lane)) * kPrime1 + kPrime4;
}

/// The part that is a multiple of 32 bytes, by four lanes.
uint64_t hashStripes(const char *&at, const char *end) {
  uint64_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  while (end - at >= 32)
    for (uint64_t &lane : lanes)
      lane = mixWord(lane, read<uint64_t>(at));
  uint64_t hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) +
                  rotate(lanes[2], 12) + rotate(lanes[3], 18);
  for (uint64_t lane : lanes)
    hash = mergeLane(hash, lane);
  return hash;
}

} // namespace

uint64_t hashBytes(std::string_view bytes) {
  const char *at = bytes.data(), *end = at + bytes.size();
  uint64_t hash = bytes.size() >= 32 ? hashStripes(at, end) : kPrime5;
  hash += bytes.size();
  while (end - at >= 8)
    hash =
        rotate(hash ^ mixWord(0, read<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (end - at >= 4)
    hash = rotate(hash ^ read<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
  while (at < end)
    hash = rotate(hash ^ read<uint8_t>(at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

} // namespace zc
