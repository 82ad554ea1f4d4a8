// The ranks' parts of a micro-batch's output: some of the samples, some of
// their tokens.
#ifndef ZC_RUNTIME_PLAN_OUTPUTPARTS_H
#define ZC_RUNTIME_PLAN_OUTPUTPARTS_H

#include "runtime/Plan/Mesh.h"

#include <vector>

namespace zc {

class OutputParts {
public:
  /// `output` is of a program that the ranks of `role` run; `type` is that of a
  /// rank's buffer.
  OutputParts(const plan::Output &output, const plan::TensorType &type,
              const Mesh &mesh, int role);

  /// The ranks whose parts are the whole, each once.
  const std::vector<int> &ranks() const { return theRanks; }

  /// The place of a rank's part among them; several ranks may have the same.
  size_t placeOf(const Mesh &mesh, int64_t rank) const {
    return size_t(mesh.placeInGroup(rank, axes));
  }

  /// The dims of all ranks' parts together.
  const std::vector<int64_t> &wholeDims() const { return theWholeDims; }

  /// The dim of tokens, if it is divided; else -1.
  int tokenDim() const { return theTokenDim; }

  /// Copies the part of `ranks()[index]` to its places in the whole.
  void place(size_t index, const char *part, char *whole) const;

  /// The tokens of `ranks()[index]`, in the order of its part.
  std::vector<int64_t> tokensOf(size_t index) const;

private:
  /// Consecutive tokens.
  struct Run {
    int64_t first, count;
  };
  std::vector<Run> runsOf(size_t index) const;

  AxisNames axes; // along which parts differ
  std::vector<int> theRanks;
  std::vector<int64_t> theWholeDims;
  int theTokenDim = -1;
  bool isZigzag = false;
  int64_t tokenParts = 1, sampleParts = 1;
  // A part is [outer, samples, middle, tokens, inner bytes]; dims that are not
  // divided count as 1.
  uint64_t outer = 1, samples = 1, middle = 1, tokens = 1, inner = 1;
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_OUTPUTPARTS_H
