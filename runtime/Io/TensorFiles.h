// The tensors of a checkpoint's group or of a .safetensors file, by name.
// Private to this folder.
#ifndef ZC_RUNTIME_IO_TENSORFILES_H
#define ZC_RUNTIME_IO_TENSORFILES_H

#include "runtime/Base/File.h"
#include "runtime/Io/CheckpointFormat.h"
#include "runtime/Plan/Safetensors.h"

#include <map>

namespace zc::checkpoint {

/// A JSON object in a file.
Result<Json> readJson(const std::string &path);

class TensorFiles {
public:
  /// Over the files that the group's index in `folder` names. Checksums of a
  /// file are looked at by one rank of `world`; without a world by this one.
  static Result<TensorFiles> open(const std::string &folder, const Group &group,
                                  const World *world = nullptr);
  static Result<TensorFiles> openFile(const std::string &path);

  /// Null where there is none.
  const SafetensorsTensor *find(const std::string &name) const;
  const std::map<std::string, SafetensorsTensor> &all() const {
    return tensors;
  }

private:
  explicit TensorFiles(const World *world) : world(world) {}
  Status addFile(const std::string &path);

  const World *world;
  std::map<std::string, std::shared_ptr<MappedFile>> files;
  std::map<std::string, SafetensorsTensor> tensors;
};

} // namespace zc::checkpoint

#endif // ZC_RUNTIME_IO_TENSORFILES_H
