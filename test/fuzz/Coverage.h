// The branches that an input has taken, if the code was built with
// -fsanitize-coverage=trace-pc (the preset `fuzz`); else nothing is known.
#ifndef ZC_TEST_FUZZ_COVERAGE_H
#define ZC_TEST_FUZZ_COVERAGE_H

namespace zc::fuzz {

/// Forgets what the last input took.
void beginCoverage();

/// Whether it took a branch that no input before it did, or took one clearly
/// more often. Remembers it.
bool endCoverage();

} // namespace zc::fuzz

#endif // ZC_TEST_FUZZ_COVERAGE_H
