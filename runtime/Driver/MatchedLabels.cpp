#include "runtime/Driver/MatchedLabels.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstring>

namespace zc {

static const plan::Input *findLabels(const plan::Program &program) {
  for (const plan::Input &input : program.inputs())
    if (input.is_label())
      return &input;
  return nullptr;
}

/// Whether the host feeds ranks parts of its samples.
static bool isDividedWithin(const plan::Input &input) {
  const auto &dims = input.sharding().dims(); // the samples' own has no axes
  return std::any_of(dims.begin(), dims.end(),
                     [](const auto &dim) { return dim.axes_size() > 0; });
}

Result<MatchedLabels> MatchedLabels::create(const plan::Program &program,
                                            const OutputParts &parts,
                                            size_t place, int classAxis) {
  MatchedLabels result;
  const plan::Input *labels = findLabels(program);
  if (!labels)
    return result;
  const bool areDivided = isDividedWithin(*labels);
  result.theType = program.buffers(int(labels->buffer())).type();
  if (parts.tokenDim() < 0) {
    if (!areDivided)
      return result;
    return makeError(
        StatusCode::InvalidArgument,
        "ranks have parts of the labels' tokens, and the whole output, so that "
        "only accuracy and perplexity can be counted; for others compile "
        "without sp");
  }
  const int dim = parts.tokenDim();
  result.tokenDim = classAxis >= 0 && classAxis < dim ? dim - 1 : dim;
  const std::vector<int64_t> tokens = parts.tokensOf(place);
  const int64_t allTokens = parts.wholeDims()[size_t(dim)];
  result.fed = result.tokenDim < result.theType.dims_size()
                   ? result.theType.dims(result.tokenDim)
                   : -1;
  const bool isSame = areDivided && result.fed == int64_t(tokens.size());
  if (!isSame && (areDivided || result.fed != allTokens))
    return makeError(StatusCode::InvalidArgument, "the labels are ",
                     printType(result.theType), ", of which ", tokens.size(),
                     " tokens are in a rank's part of the output");
  if (!isSame) {
    result.chosen = tokens;
    result.theType.set_dims(result.tokenDim, int64_t(tokens.size()));
    result.copy.assign(*byteCount(result.theType), '\0');
  }
  result.findColumns(tokens, labels->batch_dim(), allTokens);
  return result;
}

void MatchedLabels::findColumns(const std::vector<int64_t> &tokens,
                                int batchDim, int64_t allTokens) {
  int64_t before = 1, behind = 1;
  for (int i = 0; i < theType.dims_size(); ++i)
    if (i != tokenDim && i != batchDim)
      (i < tokenDim ? before : behind) *= theType.dims(i);
  for (int64_t b = 0; b < before; ++b)
    for (int64_t token : tokens)
      for (int64_t i = 0; i < behind; ++i)
        theColumns.push_back((b * allTokens + token) * behind + i);
}

const char *MatchedLabels::of(const char *labels) {
  if (chosen.empty())
    return labels;
  size_t before = 1, behind = elementBytes(theType.dtype());
  for (int i = 0; i < theType.dims_size(); ++i)
    if (i != tokenDim)
      (i < tokenDim ? before : behind) *= size_t(theType.dims(i));
  char *to = copy.data();
  for (size_t b = 0; b < before; ++b)
    for (int64_t token : chosen) {
      std::memcpy(to, labels + (b * size_t(fed) + size_t(token)) * behind,
                  behind);
      to += behind;
    }
  return copy.data();
}

} // namespace zc
