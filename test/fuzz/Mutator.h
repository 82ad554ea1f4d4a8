// Changes inputs at random; the same seed gives the same inputs everywhere.
#ifndef ZC_TEST_FUZZ_MUTATOR_H
#define ZC_TEST_FUZZ_MUTATOR_H

#include <cstdint>
#include <string>
#include <vector>

namespace zc::fuzz {

class Mutator {
public:
  Mutator(uint64_t seed, std::vector<std::string> words)
      : state(seed), words(std::move(words)) {}

  /// One of the inputs, changed in one to eight places.
  std::string next(const std::vector<std::string> &inputs);

private:
  uint64_t random();
  size_t below(size_t bound) { return bound ? random() % bound : 0; }
  void change(std::string &text, const std::vector<std::string> &inputs);
  void changeBytes(std::string &text);
  void changeNumber(std::string &text);
  void changeDigits(std::string &text);
  void changePart(std::string &text);

  uint64_t state;
  std::vector<std::string> words;
};

} // namespace zc::fuzz

#endif // ZC_TEST_FUZZ_MUTATOR_H
