// Weights that an artifact refers to instead of holding them.
#ifndef ZC_RUNTIME_PLAN_WEIGHTFILES_H
#define ZC_RUNTIME_PLAN_WEIGHTFILES_H

#include "runtime/Base/File.h"
#include "runtime/Plan/Manifest.pb.h"

#include <map>
#include <memory>
#include <string>

namespace zc {

/// The files of sources whose `file` is not empty.
class WeightFiles {
public:
  /// `folder` is the artifact's.
  WeightFiles(std::string folder, Reading reading)
      : folder(std::move(folder)), reading(reading) {}

  /// The bytes of a source. Fails when no file is where it was, seen from the
  /// artifact or from the root, when it has another size, or when the bytes
  /// have another hash.
  Result<std::string_view> read(const plan::WeightSource &source);

private:
  Result<std::shared_ptr<MappedFile>> open(const plan::WeightSource &source);

  std::string folder;
  Reading reading;
  std::map<std::string, std::shared_ptr<MappedFile>> files; // by `file`
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_WEIGHTFILES_H
