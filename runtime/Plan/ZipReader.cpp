#include "runtime/Plan/ZipReader.h"
#include "runtime/Plan/ZipFormat.h"

#include <algorithm>
#include <set>
#include <zlib.h>

namespace zc {

using namespace zip;

namespace {

// A deflated entry is inflated into memory whole; beyond this ratio, which
// deflate cannot reach, the announced size is a lie.
constexpr uint64_t kMaxRatio = 1040;

/// Where the central directory lies, and how many entries it has.
struct Directory {
  uint64_t offset, size, count;
};

Status corrupt(const std::string &why) {
  return makeError(StatusCode::Corrupt, "not a sound zip file: ", why);
}

/// The part [offset, offset + size) of `bytes`, or a failure.
Result<std::string_view> slice(std::string_view bytes, uint64_t offset,
                               uint64_t size, const char *what) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    return corrupt(strCat(what, " lies beyond the end of the file"));
  return bytes.substr(offset, size);
}

/// The offset of the end record, searched backwards over a comment.
Result<uint64_t> findEnd(std::string_view bytes) {
  if (bytes.size() < kEndSize)
    return corrupt("the file is too short");
  uint64_t last = bytes.size() - kEndSize;
  uint64_t first = last > UINT16_MAX ? last - UINT16_MAX : 0;
  for (uint64_t at = last + 1; at-- > first;)
    if (load<uint32_t>(bytes.data() + at) == kEnd)
      return at;
  return corrupt("it has no end record; the file is truncated, or "
                 "no artifact of zc compile");
}

Result<Directory> findDirectory64(std::string_view bytes, uint64_t end) {
  if (end < kEnd64LocatorSize)
    return corrupt("the zip64 locator is missing");
  const char *locator = bytes.data() + end - kEnd64LocatorSize;
  if (load<uint32_t>(locator) != kEnd64Locator)
    return corrupt("the zip64 locator is missing");
  ZC_ASSIGN_OR_RETURN(std::string_view record,
                      slice(bytes, load<uint64_t>(locator + 8), kEnd64Size,
                            "the zip64 end record"));
  if (load<uint32_t>(record.data()) != kEnd64)
    return corrupt("the zip64 end record is missing");
  return Directory{load<uint64_t>(record.data() + 48),
                   load<uint64_t>(record.data() + 40),
                   load<uint64_t>(record.data() + 32)};
}

Result<Directory> findDirectory(std::string_view bytes) {
  ZC_ASSIGN_OR_RETURN(uint64_t end, findEnd(bytes));
  const char *record = bytes.data() + end;
  Directory directory{load<uint32_t>(record + 16), load<uint32_t>(record + 12),
                      load<uint16_t>(record + 10)};
  if (directory.offset == UINT32_MAX || directory.size == UINT32_MAX ||
      directory.count == UINT16_MAX)
    return findDirectory64(bytes, end);
  return directory;
}

/// A parsed central header, zip64 fields resolved.
struct Central {
  std::string_view name;
  uint16_t flags, method;
  uint32_t crc;
  uint64_t compressed, size, offset, headerBytes;
};

/// Replaces the fields that did not fit 32 bits, in the order of the format.
Status resolveZip64(std::string_view extra, Central &central) {
  auto needed = [](uint64_t field) { return field == UINT32_MAX; };
  if (!needed(central.size) && !needed(central.compressed) &&
      !needed(central.offset))
    return Status();
  while (extra.size() >= 4) {
    uint16_t id = load<uint16_t>(extra.data());
    uint16_t size = load<uint16_t>(extra.data() + 2);
    if (size > extra.size() - 4)
      break;
    std::string_view body = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != kExtraZip64)
      continue;
    for (uint64_t *field :
         {&central.size, &central.compressed, &central.offset}) {
      if (!needed(*field))
        continue;
      if (body.size() < 8)
        return corrupt("a zip64 field is missing");
      *field = load<uint64_t>(body.data());
      body.remove_prefix(8);
    }
    return Status();
  }
  return corrupt("a zip64 field is missing");
}

Result<Central> readCentral(std::string_view directory) {
  if (directory.size() < kCentralHeaderSize ||
      load<uint32_t>(directory.data()) != kCentralHeader)
    return corrupt("a directory entry is damaged");
  const char *at = directory.data();
  uint64_t nameSize = load<uint16_t>(at + 28);
  uint64_t extraSize = load<uint16_t>(at + 30);
  uint64_t commentSize = load<uint16_t>(at + 32);
  uint64_t total = kCentralHeaderSize + nameSize + extraSize + commentSize;
  if (total > directory.size())
    return corrupt("a directory entry is damaged");
  Central central{directory.substr(kCentralHeaderSize, nameSize),
                  load<uint16_t>(at + 8),
                  load<uint16_t>(at + 10),
                  load<uint32_t>(at + 16),
                  load<uint32_t>(at + 20),
                  load<uint32_t>(at + 24),
                  load<uint32_t>(at + 42),
                  total};
  ZC_RETURN_IF_ERROR(resolveZip64(
      directory.substr(kCentralHeaderSize + nameSize, extraSize), central));
  return central;
}

/// The data of an entry, found through its local header.
Result<std::string_view> locateData(std::string_view bytes,
                                    const Central &central) {
  ZC_ASSIGN_OR_RETURN(
      std::string_view header,
      slice(bytes, central.offset, kLocalHeaderSize, "a local header"));
  if (load<uint32_t>(header.data()) != kLocalHeader)
    return corrupt("a local header is damaged");
  uint64_t nameSize = load<uint16_t>(header.data() + 26);
  uint64_t extraSize = load<uint16_t>(header.data() + 28);
  ZC_ASSIGN_OR_RETURN(std::string_view name,
                      slice(bytes, central.offset + kLocalHeaderSize, nameSize,
                            "an entry's name"));
  if (name != central.name)
    return corrupt("a local header names another entry");
  return slice(bytes, central.offset + kLocalHeaderSize + nameSize + extraSize,
               central.compressed, "an entry's data");
}

Result<ZipEntry> makeEntry(std::string_view bytes, const Central &central) {
  std::string name(central.name);
  if (central.flags & 1)
    return makeError(StatusCode::Unsupported, "entry '", name,
                     "' is encrypted");
  if (central.method != kStored && central.method != kDeflated)
    return makeError(StatusCode::Unsupported, "entry '", name,
                     "' is compressed by method ", central.method,
                     "; only stored and deflated entries can be read");
  ZC_ASSIGN_OR_RETURN(std::string_view data, locateData(bytes, central));
  if (central.method == kStored && central.size != central.compressed)
    return corrupt("a stored entry has two sizes");
  if (central.method == kDeflated && central.size / kMaxRatio > data.size())
    return corrupt("an entry's size is impossible");
  return ZipEntry{std::move(name), central.method, central.crc, central.size,
                  data};
}

Status crcMismatch(const ZipEntry &entry) {
  return makeError(StatusCode::Corrupt, "entry '", entry.name,
                   "' is damaged: its checksum does not match");
}

} // namespace

Result<ZipReader> ZipReader::open(const std::string &path, Reading reading) {
  ZC_ASSIGN_OR_RETURN(auto file, MappedFile::open(path, reading));
  ZipReader reader(std::move(file));
  if (Status status = reader.readDirectory(); !status.ok())
    return status.withContext("'" + path + "'");
  return reader;
}

Status ZipReader::readDirectory() {
  std::string_view bytes = file->bytes();
  ZC_ASSIGN_OR_RETURN(Directory where, findDirectory(bytes));
  ZC_ASSIGN_OR_RETURN(std::string_view directory,
                      slice(bytes, where.offset, where.size, "the directory"));
  std::set<std::string_view> names;
  for (uint64_t i = 0; i < where.count; ++i) {
    ZC_ASSIGN_OR_RETURN(Central central, readCentral(directory));
    directory.remove_prefix(central.headerBytes);
    ZC_ASSIGN_OR_RETURN(ZipEntry entry, makeEntry(bytes, central));
    if (!names.insert(central.name).second)
      return corrupt(strCat("it has two entries '", entry.name, "'"));
    theEntries.push_back(std::move(entry));
  }
  return Status();
}

const ZipEntry *ZipReader::find(std::string_view name) const {
  for (const ZipEntry &entry : theEntries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Result<std::string_view> ZipReader::view(const ZipEntry &entry) const {
  if (entry.method != kStored)
    return makeError(StatusCode::Corrupt, "'", path(), "': entry '", entry.name,
                     "' must be stored, not compressed");
  constexpr size_t kChunk = 4u << 20;
  uLong crc = 0;
  for (size_t at = 0; at < entry.data.size(); at += kChunk) {
    std::string_view part = entry.data.substr(at, kChunk);
    crc = ::crc32(crc, reinterpret_cast<const Bytef *>(part.data()),
                  static_cast<uInt>(part.size()));
    if (part.size() == kChunk)
      file->release(part); // a pass over large weights should not fill memory
  }
  if (crc != entry.crc)
    return crcMismatch(entry).withContext("'" + path() + "'");
  return entry.data;
}

Result<std::string> ZipReader::read(const ZipEntry &entry) const {
  if (entry.method == kStored) {
    ZC_ASSIGN_OR_RETURN(std::string_view bytes, view(entry));
    return std::string(bytes);
  }
  std::string out(entry.size, '\0');
  z_stream stream = {};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return makeError(StatusCode::Internal, "zlib cannot start");
  size_t in = 0, done = 0;
  int code = Z_OK;
  constexpr size_t kChunk = 1u << 30; // zlib counts in 32 bits
  while (code == Z_OK) {
    size_t give = std::min(entry.data.size() - in, kChunk);
    size_t room = std::min(out.size() - done, kChunk);
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(entry.data.data() + in));
    stream.avail_in = static_cast<uInt>(give);
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    code = ::inflate(&stream, Z_NO_FLUSH);
    in += give - stream.avail_in;
    done += room - stream.avail_out;
    if (code == Z_BUF_ERROR ||
        (give == stream.avail_in && room == stream.avail_out))
      break; // no progress: truncated, or longer than announced
  }
  ::inflateEnd(&stream);
  uLong crc = 0;
  for (size_t at = 0; at < done; at += kChunk)
    crc = ::crc32(crc, reinterpret_cast<const Bytef *>(out.data() + at),
                  static_cast<uInt>(std::min(done - at, kChunk)));
  if (code != Z_STREAM_END || done != out.size() || crc != entry.crc)
    return crcMismatch(entry).withContext("'" + path() + "'");
  return out;
}

} // namespace zc
