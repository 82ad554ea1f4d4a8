// Masks that hide the tokens behind each token, stored whole in a file.
#ifndef ZC_COMPILER_IMPORT_TRIANGULARMASK_H
#define ZC_COMPILER_IMPORT_TRIANGULARMASK_H

#include "compiler/OnnxModel/ModelFile.h"
#include "compiler/OnnxModel/TensorSource.h"

namespace zc {

/// Whether a stored tensor is a square matrix (in front of it dims of 1) of
/// float32 or bool that has one value up to the diagonal and another one behind
/// it: small enough, too, to be kept as a constant. For other tensors only the
/// first row is read; data that cannot be read are none.
bool isTriangularMask(const ModelFile &file, const proto::TensorProto &tensor,
                      const TensorSource &source);

} // namespace zc

#endif
