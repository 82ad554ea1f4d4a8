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

  /// Null when the checkpoint has no such tensor.
  const SafetensorsTensor *find(const std::string &name) const;
  const std::map<std::string, SafetensorsTensor> &tensors() const {
    return theTensors;
  }
  const std::string &path() const { return thePath; }

private:
  Status readFiles();

  std::string thePath;
  std::vector<std::shared_ptr<MappedFile>> files;
  std::map<std::string, SafetensorsTensor> theTensors; // views of `files`
};

} // namespace zc

#endif
