// Writes a zip whose entries are stored as they are, each beginning at a
// multiple of 64 bytes, so that readers can map and use them in place.
#ifndef ZC_RUNTIME_PLAN_ZIPWRITER_H
#define ZC_RUNTIME_PLAN_ZIPWRITER_H

#include "runtime/Base/File.h"

#include <string_view>
#include <vector>

namespace zc {

/// The archive appears under its name at finish(); without it, nothing stays.
///
///   ZC_ASSIGN_OR_RETURN(ZipWriter zip, ZipWriter::create("out.zca"));
///   ZC_RETURN_IF_ERROR(zip.addBytes("manifest.pb", bytes));
///   ZC_RETURN_IF_ERROR(zip.beginEntry("weights.safetensors", total));
///   ... zip.write(data, size) until `total` bytes are written ...
///   ZC_RETURN_IF_ERROR(zip.endEntry());
///   ZC_RETURN_IF_ERROR(zip.finish());
class ZipWriter {
public:
  /// `mode`: of a new file, as AtomicFile has it.
  static Result<ZipWriter> create(const std::string &path, mode_t mode = 0666);

  /// Adds a whole entry from memory.
  Status addBytes(const std::string &name, std::string_view bytes);
  /// Adds a file's bytes under `name`.
  Status addFile(const std::string &name, const std::string &path);

  /// Streams an entry of exactly `size` bytes.
  Status beginEntry(const std::string &name, uint64_t size);
  Status write(const void *data, size_t bytes);
  Status endEntry();

  Status finish();

private:
  struct Entry {
    std::string name;
    uint64_t size, headerOffset;
    uint32_t crc;
  };

  explicit ZipWriter(AtomicFile file) : file(std::move(file)) {}
  void appendCentralEntry(std::string &out, const Entry &entry) const;
  void appendEnd(std::string &out, uint64_t directoryOffset,
                 uint64_t directorySize) const;

  AtomicFile file;
  std::vector<Entry> entries;
  uint64_t remaining = 0; // bytes that the open entry still lacks
  bool open = false;
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ZIPWRITER_H
