//===- WeightsWriter.h - initial values into the artifact -------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_WEIGHTSWRITER_H
#define ZC_COMPILER_EXPORT_WEIGHTSWRITER_H

#include "compiler/Export/Artifact.h"
#include "dialects/Train/TrainDialect.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Plan/ZipWriter.h"

#include <map>
#include <memory>

namespace zc {

/// Collects tensors, checks that their bytes are there, then streams them from
/// their files: weights are never all in memory.
class WeightsWriter {
public:
  explicit WeightsWriter(std::string folder) : folder(std::move(folder)) {}

  /// Adds the initial value of a state that has one.
  Status add(train::StateOp state);
  Status add(const StoredTensor &tensor);

  Status write(ZipWriter &zip);

private:
  struct Bytes {
    std::string own;                  // or else
    std::shared_ptr<MappedFile> file; // a part of this
    std::string_view view() const { return file ? part : own; }
    std::string_view part;
    uint64_t transposedRows = 0; // of a matrix to be transposed; 0: as it is
    uint64_t width = 0;          // its elements' bytes
  };

  /// The part holds the transposed matrix of `type`.
  static void markTransposed(Bytes &bytes, const plan::TensorType &type);
  Status addTensor(const std::string &name, const plan::TensorType &type,
                   Bytes bytes);
  Result<Bytes> locate(const std::string &file, uint64_t offset,
                       uint64_t length);

  std::string folder;
  std::map<std::string, std::shared_ptr<MappedFile>> files;
  std::vector<SafetensorsTensor> header;
  std::vector<Bytes> data;
};

} // namespace zc

#endif // ZC_COMPILER_EXPORT_WEIGHTSWRITER_H
