#include "test/fuzz/Mutator.h"

#include <algorithm>
#include <cstring>

namespace zc::fuzz {

static constexpr size_t kMostBytes = 1 << 16;

/// SplitMix64.
uint64_t Mutator::random() {
  uint64_t value = state += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::string Mutator::next(const std::vector<std::string> &inputs) {
  // New inputs are at the end, and lead further more often.
  size_t at = std::max(below(inputs.size()), below(inputs.size()));
  std::string text = inputs[at];
  for (size_t changes = 1 + below(8); changes > 0; --changes)
    change(text, inputs);
  text.resize(std::min(text.size(), kMostBytes));
  return text;
}

void Mutator::change(std::string &text,
                     const std::vector<std::string> &inputs) {
  switch (below(7)) {
  case 0:
  case 1:
    return changeBytes(text);
  case 2:
    return changeNumber(text);
  case 3:
    return changeDigits(text);
  case 4:
    return changePart(text);
  case 5: { // the end of another input
    const std::string &other = inputs[below(inputs.size())];
    text.resize(below(text.size() + 1));
    text += other.substr(below(other.size() + 1));
    return;
  }
  default:
    if (!words.empty())
      text.insert(below(text.size() + 1), words[below(words.size())]);
  }
}

void Mutator::changeBytes(std::string &text) {
  if (text.empty())
    return;
  char &byte = text[below(text.size())];
  switch (below(3)) {
  case 0:
    byte = char(byte ^ (1 << below(8)));
    return;
  case 1:
    byte = char(random());
    return;
  default:
    byte = char(byte + (below(2) ? 1 : -1));
  }
}

/// A little-endian number of 2, 4 or 8 bytes becomes one at a limit.
void Mutator::changeNumber(std::string &text) {
  const size_t bytes = size_t(2) << below(3);
  if (text.size() < bytes)
    return;
  const uint64_t limits[] = {0,
                             1,
                             UINT64_MAX,
                             INT64_MAX,
                             UINT32_MAX,
                             INT32_MAX,
                             UINT16_MAX,
                             text.size(),
                             text.size() + 1,
                             uint64_t(INT64_MAX) + 1,
                             uint64_t(1) << below(64)};
  uint64_t value = limits[below(std::size(limits))];
  std::memcpy(text.data() + below(text.size() - bytes + 1), &value, bytes);
}

/// The same of a number that is written out.
void Mutator::changeDigits(std::string &text) {
  const size_t from = below(text.size() + 1);
  size_t begin = text.find_first_of("0123456789", from);
  if (begin == std::string::npos)
    return;
  size_t end = text.find_first_not_of("0123456789", begin);
  end = std::min(end, text.size());
  const char *limits[] = {"0",
                          "1",
                          "-1",
                          "255",
                          "65536",
                          "2147483648",
                          "4294967296",
                          "9223372036854775807",
                          "9223372036854775808",
                          "18446744073709551616",
                          "99999999999999999999999",
                          "1e999",
                          "0.5"};
  text.replace(begin, end - begin, limits[below(std::size(limits))]);
}

/// A stretch is left out, doubled, many times repeated, or moved.
void Mutator::changePart(std::string &text) {
  const size_t begin = below(text.size() + 1);
  const size_t size = std::min(text.size() - begin, 1 + below(64));
  std::string part = text.substr(begin, size);
  switch (below(4)) {
  case 0:
    text.erase(begin, size);
    return;
  case 1:
    text.insert(begin, part);
    return;
  case 2:
    for (size_t count = below(64); count > 0 && text.size() < kMostBytes;
         --count)
      text.insert(begin, part);
    return;
  default:
    text.erase(begin, size);
    text.insert(below(text.size() + 1), part);
  }
}

} // namespace zc::fuzz
