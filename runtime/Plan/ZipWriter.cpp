#include "runtime/Plan/ZipWriter.h"
#include "runtime/Plan/ZipFormat.h"

#include <algorithm>
#include <zlib.h>

namespace zc {

using namespace zip;

namespace {

// Equal input gives equal bytes: every entry is dated 1980-01-01, 00:00.
constexpr uint16_t kTime = 0, kDate = 0x21;
constexpr uint16_t kVersion = 45; // the first with zip64
constexpr uint32_t kCrcOffset = 14;

/// Fills the extra field so that the data after it are aligned.
std::string alignmentExtra(uint64_t headerEnd) {
  constexpr uint64_t kFixed = 6; // id, size, alignment
  uint64_t padding =
      (kAlignment - (headerEnd + kFixed) % kAlignment) % kAlignment;
  std::string extra;
  append<uint16_t>(extra, kExtraAlignment);
  append<uint16_t>(extra, static_cast<uint16_t>(2 + padding));
  append<uint16_t>(extra, kAlignment);
  extra.append(padding, '\0');
  return extra;
}

uint32_t updateCrc(uint32_t crc, const char *data, size_t bytes) {
  // zlib counts in 32 bits.
  while (bytes > 0) {
    size_t part = std::min<size_t>(bytes, 1u << 30);
    crc = static_cast<uint32_t>(::crc32(
        crc, reinterpret_cast<const Bytef *>(data), static_cast<uInt>(part)));
    data += part;
    bytes -= part;
  }
  return crc;
}

uint32_t clamp32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

} // namespace

Result<ZipWriter> ZipWriter::create(const std::string &path, mode_t mode) {
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path, mode));
  return ZipWriter(std::move(file));
}

Status ZipWriter::addBytes(const std::string &name, std::string_view bytes) {
  ZC_RETURN_IF_ERROR(beginEntry(name, bytes.size()));
  ZC_RETURN_IF_ERROR(write(bytes.data(), bytes.size()));
  return endEntry();
}

Status ZipWriter::addFile(const std::string &name, const std::string &path) {
  ZC_ASSIGN_OR_RETURN(auto source, MappedFile::open(path));
  return addBytes(name, source->bytes());
}

Status ZipWriter::beginEntry(const std::string &name, uint64_t size) {
  assert(!open && "the entry before must be ended");
  assert(name.size() < UINT16_MAX && "entry names are short");
  uint64_t at = file.size();
  bool large = size >= UINT32_MAX;
  std::string extra;
  if (large) {
    append<uint16_t>(extra, kExtraZip64);
    append<uint16_t>(extra, 16);
    append<uint64_t>(extra, size);
    append<uint64_t>(extra, size);
  }
  extra += alignmentExtra(at + kLocalHeaderSize + name.size() + extra.size());

  std::string header;
  append<uint32_t>(header, kLocalHeader);
  append<uint16_t>(header, kVersion);
  append<uint16_t>(header, 0); // flags
  append<uint16_t>(header, kStored);
  append<uint16_t>(header, kTime);
  append<uint16_t>(header, kDate);
  append<uint32_t>(header, 0); // the CRC, known at the end
  append<uint32_t>(header, large ? UINT32_MAX : clamp32(size));
  append<uint32_t>(header, large ? UINT32_MAX : clamp32(size));
  append<uint16_t>(header, static_cast<uint16_t>(name.size()));
  append<uint16_t>(header, static_cast<uint16_t>(extra.size()));
  header += name + extra;
  ZC_RETURN_IF_ERROR(file.write(header.data(), header.size()));

  entries.push_back({name, size, at, 0});
  remaining = size;
  open = true;
  return Status();
}

Status ZipWriter::write(const void *data, size_t bytes) {
  assert(open && bytes <= remaining && "more bytes than the entry announced");
  Entry &entry = entries.back();
  entry.crc = updateCrc(entry.crc, static_cast<const char *>(data), bytes);
  remaining -= bytes;
  return file.write(data, bytes);
}

Status ZipWriter::endEntry() {
  assert(open && remaining == 0 && "fewer bytes than the entry announced");
  open = false;
  std::string crc;
  append<uint32_t>(crc, entries.back().crc);
  return file.writeAt(entries.back().headerOffset + kCrcOffset, crc.data(),
                      crc.size());
}

void ZipWriter::appendCentralEntry(std::string &out, const Entry &entry) const {
  bool largeSize = entry.size >= UINT32_MAX;
  bool largeOffset = entry.headerOffset >= UINT32_MAX;
  std::string extra;
  if (largeSize || largeOffset) {
    append<uint16_t>(extra, kExtraZip64);
    append<uint16_t>(extra, (largeSize ? 16 : 0) + (largeOffset ? 8 : 0));
    if (largeSize) {
      append<uint64_t>(extra, entry.size);
      append<uint64_t>(extra, entry.size);
    }
    if (largeOffset)
      append<uint64_t>(extra, entry.headerOffset);
  }
  append<uint32_t>(out, kCentralHeader);
  append<uint16_t>(out, kVersion); // made by
  append<uint16_t>(out, kVersion); // needed
  append<uint16_t>(out, 0);        // flags
  append<uint16_t>(out, kStored);
  append<uint16_t>(out, kTime);
  append<uint16_t>(out, kDate);
  append<uint32_t>(out, entry.crc);
  append<uint32_t>(out, largeSize ? UINT32_MAX : clamp32(entry.size));
  append<uint32_t>(out, largeSize ? UINT32_MAX : clamp32(entry.size));
  append<uint16_t>(out, static_cast<uint16_t>(entry.name.size()));
  append<uint16_t>(out, static_cast<uint16_t>(extra.size()));
  append<uint16_t>(out, 0); // comment
  append<uint16_t>(out, 0); // disk
  append<uint16_t>(out, 0); // internal attributes
  append<uint32_t>(out, 0); // external attributes
  append<uint32_t>(out, largeOffset ? UINT32_MAX : clamp32(entry.headerOffset));
  out += entry.name + extra;
}

void ZipWriter::appendEnd(std::string &out, uint64_t directoryOffset,
                          uint64_t directorySize) const {
  bool large = directoryOffset >= UINT32_MAX || directorySize >= UINT32_MAX ||
               entries.size() >= UINT16_MAX;
  if (large) {
    append<uint32_t>(out, kEnd64);
    append<uint64_t>(out, kEnd64Size - 12);
    append<uint16_t>(out, kVersion);
    append<uint16_t>(out, kVersion);
    append<uint32_t>(out, 0); // this disk
    append<uint32_t>(out, 0); // the directory's disk
    append<uint64_t>(out, entries.size());
    append<uint64_t>(out, entries.size());
    append<uint64_t>(out, directorySize);
    append<uint64_t>(out, directoryOffset);
    append<uint32_t>(out, kEnd64Locator);
    append<uint32_t>(out, 0); // the disk of the record above
    append<uint64_t>(out, directoryOffset + directorySize);
    append<uint32_t>(out, 1); // disks
  }
  auto count = static_cast<uint16_t>(
      large ? UINT16_MAX : std::min<size_t>(entries.size(), UINT16_MAX));
  append<uint32_t>(out, kEnd);
  append<uint16_t>(out, 0);
  append<uint16_t>(out, 0);
  append<uint16_t>(out, count);
  append<uint16_t>(out, count);
  append<uint32_t>(out, large ? UINT32_MAX : clamp32(directorySize));
  append<uint32_t>(out, large ? UINT32_MAX : clamp32(directoryOffset));
  append<uint16_t>(out, 0); // comment
}

Status ZipWriter::finish() {
  assert(!open && "the last entry must be ended");
  uint64_t directoryOffset = file.size();
  std::string directory;
  for (const Entry &entry : entries)
    appendCentralEntry(directory, entry);
  uint64_t directorySize = directory.size();
  appendEnd(directory, directoryOffset, directorySize);
  ZC_RETURN_IF_ERROR(file.write(directory.data(), directory.size()));
  return file.commit();
}

} // namespace zc
