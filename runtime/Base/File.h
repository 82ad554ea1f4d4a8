// Files read by mapping, and files that appear whole or not at all.
#ifndef ZC_RUNTIME_BASE_FILE_H
#define ZC_RUNTIME_BASE_FILE_H

#include "runtime/Base/Mappings.h"
#include "runtime/Base/Status.h"
#include "runtime/Base/Temporaries.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zc {

/// How a file is read.
enum class Reading {
  InPlace, // its pages come from the file when they are looked at
  Copied,  // once, into memory of this process: what others make of the file
           // later changes nothing
};

/// A whole file, mapped read-only.
class MappedFile {
public:
  static Result<std::shared_ptr<MappedFile>>
  open(const std::string &path, Reading reading = Reading::InPlace);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return thePath; }
  std::string_view bytes() const { return {data, size}; }

  /// Lets go of the pages behind `part`; they come back from disk when read.
  /// A copy stays.
  void release(std::string_view part) const;

private:
  MappedFile(std::string path, const char *data, const struct stat &info,
             Reading reading);

  std::string thePath;
  const char *data;
  size_t size;
  std::optional<Mapping> mapping; // of a file in place
};

/// Writes a file under a temporary name beside `path`. commit() puts it in
/// place; without it nothing is left behind, whether by return or by signal;
/// the next program that writes `path` removes leftovers of a killed one. A
/// device or a pipe is written to directly, as it must not be replaced.
class AtomicFile {
public:
  /// A file that is replaced keeps its rights; a new one gets `mode`, as far as
  /// the process's mask allows.
  static Result<AtomicFile> create(const std::string &path, mode_t mode = 0666);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(const void *data, size_t bytes);
  /// Overwrites bytes already written.
  Status writeAt(uint64_t offset, const void *data, size_t bytes);
  uint64_t size() const { return written; }

  /// Makes the bytes durable and renames the file into place.
  Status commit();

private:
  AtomicFile(std::string path, TemporaryName temporary, int descriptor)
      : path(std::move(path)), temporary(std::move(temporary)),
        descriptor(descriptor) {}

  std::string path;
  TemporaryName temporary; // empty: written in place
  int descriptor;
  uint64_t written = 0;
};

/// Writes a whole small file atomically.
Status writeFile(const std::string &path, std::string_view bytes);

/// Reads a whole small file; refuses more than `limit` bytes.
Result<std::string> readFile(const std::string &path, size_t limit);

/// Creates a folder and its parents.
Status makeDirectories(const std::string &path);

/// A new file, empty, or a new folder, in $TMPDIR or /tmp, that this user alone
/// may read: its path. Removes those that a killed process has left under the
/// same prefix.
Result<std::string> makeTemporaryFile(const std::string &prefix,
                                      const std::string &suffix);
Result<std::string> makeTemporaryFolder(const std::string &prefix);

/// Six letters and digits, drawn, for names that nobody else has.
std::string drawLetters();

/// Makes renames in a folder durable.
Status syncDirectory(const std::string &path);

/// Removes a file or a folder with all it holds, as far as possible.
void removeAll(const std::string &path);

/// The folder part of a path, "." when it has none.
std::string parentPath(const std::string &path);

/// Fails when the folder of the file to be written does not exist.
Status checkParentExists(const std::string &path);

/// Fails when there is a file of that name that is not empty and does not begin
/// as JSON with `mark` in it, so that writing `what` does not replace it.
Status checkIsJson(const std::string &path, const char *what, const char *mark);

/// Writes all bytes to a descriptor, whatever the interruptions.
Status writeAll(int descriptor, const void *data, size_t bytes,
                const std::string &path);

} // namespace zc

#endif // ZC_RUNTIME_BASE_FILE_H
