// Reads a zip: an artifact, or the .npz files that NumPy writes. Every offset
// and size is checked against the file before it is used, and every entry's
// CRC-32 before its bytes are.
#ifndef ZC_RUNTIME_PLAN_ZIPREADER_H
#define ZC_RUNTIME_PLAN_ZIPREADER_H

#include "runtime/Base/File.h"

#include <string_view>
#include <vector>

namespace zc {

struct ZipEntry {
  std::string name;
  uint16_t method;       // stored or deflated
  uint32_t crc;          // of the bytes before compression
  uint64_t size;         // before compression
  std::string_view data; // as they lie in the file
};

class ZipReader {
public:
  static Result<ZipReader> open(const std::string &path,
                                Reading reading = Reading::InPlace);

  const std::string &path() const { return file->path(); }
  /// All of the file.
  std::string_view bytes() const { return file->bytes(); }
  const std::vector<ZipEntry> &entries() const { return theEntries; }
  /// Null when there is no such entry.
  const ZipEntry *find(std::string_view name) const;

  /// The bytes of a stored entry, in place. The CRC has been checked.
  Result<std::string_view> view(const ZipEntry &entry) const;
  /// The bytes of any entry. The CRC has been checked.
  Result<std::string> read(const ZipEntry &entry) const;

  /// Lets go of the memory that reading `part` took.
  void release(std::string_view part) const { file->release(part); }

private:
  explicit ZipReader(std::shared_ptr<MappedFile> file)
      : file(std::move(file)) {}
  Status readDirectory();

  std::shared_ptr<MappedFile> file;
  std::vector<ZipEntry> theEntries;
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ZIPREADER_H
