// The model's tensors in a checkpoint, as runtime/Io writes them.
#ifndef ZC_COMPILER_DRIVER_CHECKPOINTWEIGHTS_H
#define ZC_COMPILER_DRIVER_CHECKPOINTWEIGHTS_H

#include "runtime/Base/File.h"
#include "runtime/Plan/Safetensors.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zc {

class CheckpointWeights {
public:
  /// Opens DIR/step-N, or the latest of DIR.
  static Result<CheckpointWeights> open(const std::string &path);

  /// Puts what the optimizer keeps in place of tensors: `states` maps names of
  /// the model's tensors to those of the optimizer's. Fails where one lacks.
  Status replace(const std::map<std::string, std::string> &states);

  /// Null when the checkpoint has no such tensor.
  const SafetensorsTensor *find(const std::string &name) const;
  const std::map<std::string, SafetensorsTensor> &tensors() const {
    return theTensors;
  }
  const std::string &path() const { return thePath; }

private:
  using Tensors = std::map<std::string, SafetensorsTensor>;
  Result<Tensors> readFiles(const char *index);

  std::string thePath;
  std::vector<std::shared_ptr<MappedFile>> files;
  Tensors theTensors; // views of `files`
};

} // namespace zc

#endif
