// The author's model, into the artifact, for `zc export`.
#ifndef ZC_COMPILER_DRIVER_STOREDTENSORS_H
#define ZC_COMPILER_DRIVER_STOREDTENSORS_H

#include "compiler/Export/Artifact.h"
#include "compiler/OnnxModel/ModelFile.h"

namespace zc {

/// Fills in `input.model` and `input.tensors` from the model file at `path`.
/// Tensors that states hold anyway are not stored twice.
Status addStoredModel(const std::string &path, AbsentData absent,
                      ExportInput &input);

} // namespace zc

#endif
