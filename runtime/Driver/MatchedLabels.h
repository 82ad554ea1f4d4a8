// The labels of the tokens that a rank's part of an output has.
#ifndef ZC_RUNTIME_DRIVER_MATCHEDLABELS_H
#define ZC_RUNTIME_DRIVER_MATCHEDLABELS_H

#include "runtime/Plan/OutputParts.h"

#include <string>
#include <vector>

namespace zc {

class MatchedLabels {
public:
  MatchedLabels() = default;

  /// `place` is the rank's in `parts.ranks()`, `classAxis` the output's dim
  /// that labels lack; -1: they have all dims. Fails where ranks have parts of
  /// the labels' tokens but not of the output's.
  static Result<MatchedLabels> create(const plan::Program &program,
                                      const OutputParts &parts, size_t place,
                                      int classAxis);

  /// The type of what `of` returns.
  const plan::TensorType &type() const { return theType; }

  /// The labels of the output's tokens, of those that were fed.
  const char *of(const char *labels);

  /// A sample's elements in this rank's part, by their places in the whole
  /// sample; empty: it has them all.
  const std::vector<int64_t> &columns() const { return theColumns; }

private:
  void findColumns(const std::vector<int64_t> &tokens, int batchDim,
                   int64_t allTokens);

  plan::TensorType theType;
  int tokenDim = -1;           // of the labels; -1: not divided
  int64_t fed = 0;             // tokens of the labels that are fed
  std::vector<int64_t> chosen; // of those, in order; empty: all
  std::string copy;
  std::vector<int64_t> theColumns;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_MATCHEDLABELS_H
