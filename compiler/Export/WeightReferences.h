//===- WeightReferences.h - weights stay in their files ---------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_WEIGHTREFERENCES_H
#define ZC_COMPILER_EXPORT_WEIGHTREFERENCES_H

#include "compiler/Export/Artifact.h"
#include "dialects/Train/TrainDialect.h"

namespace zc {

/// Whether the artifact only says where the bytes are: those that lie in a file
/// as they are used.
bool isReferenced(const ExportInput &input, train::StateOp state);
bool isReferenced(const ExportInput &input, const StoredTensor &tensor);

/// Writes into `manifest` where every referenced tensor is, as seen from the
/// root and from the artifact at `path`, with sizes and hashes.
Status addReferences(const ExportInput &input, const std::string &path,
                     plan::Manifest &manifest);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_WEIGHTREFERENCES_H
