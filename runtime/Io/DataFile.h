// Samples from where users keep them: named arrays in an .npz, a folder of .npy
// or a set of single .npy files, or tokens in .bin files.
#ifndef ZC_RUNTIME_IO_DATAFILE_H
#define ZC_RUNTIME_IO_DATAFILE_H

#include "runtime/Io/TokenFiles.h"
#include "runtime/Plan/Npy.h"

#include <map>

namespace zc {

class DataFile {
public:
  /// Opens an .npz, a folder of .npy files, or .bin files of tokens, which have
  /// `tokenBits` where they don't say so; 0: nobody has said. A path that holds
  /// *, ? or [] stands for all .npz files that it matches, in the order of
  /// their names.
  static Result<DataFile> open(const std::string &path, int tokenBits = 0);
  /// Opens single files, by name.
  static Result<DataFile>
  openArrays(const std::map<std::string, std::string> &files);

  /// Arrays that a caller has in memory; messages call them `name`.
  static DataFile ofArrays(const std::string &name,
                           std::map<std::string, NpyArray> arrays);

  const std::string &path() const { return thePath; }
  /// The files that it is read from.
  const std::vector<std::string> &files() const { return theFiles; }
  const std::map<std::string, NpyArray> &arrays() const { return theArrays; }
  /// Why an array that there is cannot be read, as text is none that trains;
  /// nothing where it can, or where there is none.
  Status whyUnread(const std::string &name) const {
    auto found = unread.find(name);
    return found == unread.end() ? Status() : found->second;
  }
  /// The files behind the first, where there are several.
  using Arrays = std::map<std::string, NpyArray>;
  const std::vector<std::pair<std::string, Arrays>> &furtherFiles() const {
    return further;
  }
  /// Empty unless the data is tokens; then there are no arrays.
  const std::vector<TokenShard> &tokens() const { return theTokens; }
  /// Fails where a file has been cut short since it was opened: the system ends
  /// a process that reads what is gone.
  Status checkUncut() const;
  /// A warning about data that may not be meant so, or nothing.
  std::string doubt() const;

private:
  Status add(const std::string &name, Result<NpyArray> array,
             const std::string &where, Arrays &arrays);
  Status openArchive(const std::string &path, Arrays &arrays);
  Status openSeveral();
  Status openFolder();
  Status addFile(const std::string &name, const std::string &path);
  void addToFiles(const std::string &path);

  /// A file as it was opened.
  struct Extent {
    uint64_t device = 0, inode = 0;
    int64_t bytes = 0;
  };

  std::string thePath;
  std::vector<std::string> theFiles;
  std::vector<Extent> extents; // of theFiles
  std::map<std::string, NpyArray> theArrays;
  std::map<std::string, Status> unread;
  std::vector<std::pair<std::string, Arrays>> further;
  std::vector<TokenShard> theTokens;
};

} // namespace zc

#endif // ZC_RUNTIME_IO_DATAFILE_H
