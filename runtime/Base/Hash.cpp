#include "runtime/Base/Hash.h"

#include <algorithm>
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

} // namespace

StreamedHash::StreamedHash()
    : lanes{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1} {}

/// All whole stripes, each by four lanes.
void StreamedHash::takeStripes(const char *&at, const char *end) {
  uint64_t now[4] = {lanes[0], lanes[1], lanes[2], lanes[3]};
  while (end - at >= ptrdiff_t(kStripe))
    for (uint64_t &lane : now)
      lane = mixWord(lane, read<uint64_t>(at));
  std::copy(now, now + 4, lanes);
}

void StreamedHash::add(std::string_view bytes) {
  const char *at = bytes.data(), *end = at + bytes.size();
  total += bytes.size();
  if (waiting > 0) {
    const size_t more = std::min(kStripe - waiting, bytes.size());
    std::memcpy(rest + waiting, at, more);
    at += more;
    waiting += more;
    if (waiting < kStripe)
      return;
    const char *whole = rest;
    takeStripes(whole, rest + kStripe);
  }
  takeStripes(at, end);
  waiting = size_t(end - at);
  if (waiting > 0)
    std::memcpy(rest, at, waiting);
}

uint64_t StreamedHash::value() const {
  uint64_t hash = kPrime5;
  if (total >= kStripe) {
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) +
           rotate(lanes[3], 18);
    for (uint64_t lane : lanes)
      hash = mergeLane(hash, lane);
  }
  hash += total;
  const char *at = rest, *end = rest + waiting;
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

uint64_t hashBytes(std::string_view bytes) {
  StreamedHash hash;
  hash.add(bytes);
  return hash.value();
}

} // namespace zc
