// Named arrays from where users keep them: an .npz, a folder of .npy, or a set
// of single .npy files.
#ifndef ZC_RUNTIME_IO_DATAFILE_H
#define ZC_RUNTIME_IO_DATAFILE_H

#include "runtime/Io/Npy.h"

#include <map>

namespace zc {

class DataFile {
public:
  /// Opens an .npz or a folder of .npy files.
  static Result<DataFile> open(const std::string &path);
  /// Opens single files, by name.
  static Result<DataFile>
  openArrays(const std::map<std::string, std::string> &files);

  const std::string &path() const { return thePath; }
  const std::map<std::string, NpyArray> &arrays() const { return theArrays; }

private:
  Status openArchive();
  Status openFolder();
  Status addFile(const std::string &name, const std::string &path);

  std::string thePath;
  std::map<std::string, NpyArray> theArrays;
};

} // namespace zc

#endif // ZC_RUNTIME_IO_DATAFILE_H
