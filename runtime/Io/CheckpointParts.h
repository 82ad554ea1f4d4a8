// How a checkpoint's tensors are divided over files, and what of them each rank
// writes. Private to this folder.
#ifndef ZC_RUNTIME_IO_CHECKPOINTPARTS_H
#define ZC_RUNTIME_IO_CHECKPOINTPARTS_H

#include "runtime/Io/CheckpointFormat.h"
#include "runtime/Plan/RoleTensors.h"
#include "runtime/Plan/Safetensors.h"

#include <string>
#include <vector>

namespace zc::checkpoint {

/// One of a group's files: whole tensors, one after another.
struct TensorFile {
  std::string name;
  std::vector<HeldTensor> tensors;
  std::vector<SafetensorsTensor> entries;
  uint64_t bytes = 0; // of the tensors

  /// The place of one of `tensors` among them, found by its address.
  size_t numberOf(const FileTensor &tensor) const;
};

/// Makes as many files as ranks if there are enough tensors, so that ranks
/// begin in different ones; all ranks find the same.
std::vector<TensorFile> divideIntoFiles(const plan::Manifest &manifest,
                                        const Group &group, size_t ranks);

/// The header of the file; its size does not depend on checksums.
std::string headerOf(const TensorFile &file);

/// A stretch of one of this rank's states, which this rank writes.
struct Part {
  const FileTensor *tensor; // of a TensorFile, which must stay
  uint64_t state;           // its first byte in the state
  uint64_t place;           // and in the file
  uint64_t bytes;
};

/// The parts of a file that this rank writes. A tensor of several ranks is
/// written by the first one of the first role.
std::vector<Part> listOwnParts(Executor &executor, const TensorFile &file);

/// Copies bytes of a part, from its byte `at` on, to `to`. Fails where one is
/// an infinity or NaN: from there no run can go on.
Status readPart(Executor &executor, const Part &part, uint64_t at, char *to,
                uint64_t bytes);

} // namespace zc::checkpoint

#endif // ZC_RUNTIME_IO_CHECKPOINTPARTS_H
