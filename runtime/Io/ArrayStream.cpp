#include "runtime/Io/ArrayStream.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace zc {

// A header that says more is believed as its bytes arrive.
static constexpr size_t kMostAtOnce = size_t(1) << 20;
// Between two looks at whether to go on waiting.
static constexpr int kMilliseconds = 100;

ArrayStream::ArrayStream(int descriptor, std::string name,
                         std::vector<std::string> inputs,
                         std::function<bool()> isStopped)
    : descriptor(descriptor), name(std::move(name)),
      isStopped(std::move(isStopped)) {
  for (std::string &input : inputs)
    columns.emplace_back().input = std::move(input);
}

/// Appends up to `size` bytes; returns how many: fewer at the end.
Result<size_t> ArrayStream::fill(std::string &bytes, size_t size) {
  const size_t begin = bytes.size();
  while (bytes.size() < begin + size) {
    pollfd waiting = {descriptor, POLLIN, 0};
    if (::poll(&waiting, 1, kMilliseconds) <= 0) {
      if (isStopped())
        break;
      continue;
    }
    const size_t at = bytes.size();
    const size_t wanted = std::min(begin + size - at, kMostAtOnce);
    bytes.resize(at + wanted);
    const ssize_t got = ::read(descriptor, bytes.data() + at, wanted);
    bytes.resize(at + size_t(std::max<ssize_t>(0, got)));
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      return errnoError("cannot read " + name);
    if (got == 0)
      break;
  }
  return bytes.size() - begin;
}

/// It is over: a fault in the midst of a record, unless it was stopped.
Result<bool> ArrayStream::endIn(const Column &column) const {
  if (isStopped())
    return false;
  return makeError(StatusCode::Corrupt, name, " ends in the midst of array '",
                   column.input, "' of record ", records + 1);
}

Status ArrayStream::checkAlike(const Column &column,
                               const NpyArray &array) const {
  const NpyArray &like = column.like ? *column.like : array;
  const bool isRow = !array.dims.empty() && !like.dims.empty() &&
                     std::equal(array.dims.begin() + 1, array.dims.end(),
                                like.dims.begin() + 1, like.dims.end());
  if (!isRow || array.kind != like.kind || array.itemSize != like.itemSize)
    return makeError(StatusCode::InvalidArgument, name, ", record ",
                     records + 1, ": '", column.input, "' is ", array.print(),
                     "; in the records before it is ", like.print(),
                     ", and any number along the first axis will do");
  const int64_t first = columns.front().samples;
  const int64_t samples = column.samples + array.dims[0];
  if (&column != &columns.front() && samples != first)
    return makeError(StatusCode::InvalidArgument, name, ", record ",
                     records + 1, ": '", column.input, "' has ", array.dims[0],
                     " samples, '", columns.front().input, "' has ",
                     first - column.samples);
  return Status();
}

/// Whether there was one: at its end there is none.
Result<bool> ArrayStream::readArray(Column &column, bool mayEnd) {
  std::string bytes;
  ZC_ASSIGN_OR_RETURN(size_t got, fill(bytes, kNpyHeaderStart));
  if (got == 0 && mayEnd)
    return false;
  if (got < kNpyHeaderStart)
    return endIn(column);
  auto size = npyHeaderSize(bytes);
  if (!size.ok())
    return size.status().withContext(
        strCat(name, ", array '", column.input, "' of record ", records + 1));
  if (*size < bytes.size())
    return makeError(StatusCode::Corrupt, name, ", array '", column.input,
                     "' of record ", records + 1,
                     ": not a sound .npy file: its header is empty");
  ZC_ASSIGN_OR_RETURN(got, fill(bytes, *size - bytes.size()));
  if (bytes.size() < *size)
    return endIn(column);
  auto header = parseNpyHeader(bytes);
  Status sound = header.ok() ? checkAlike(column, header->array)
                             : header.status().withContext(strCat(
                                   name, ", array '", column.input, "'"));
  ZC_RETURN_IF_ERROR(sound);
  if (header->isFortran)
    return makeError(StatusCode::Unsupported, name, ", record ", records + 1,
                     ": '", column.input,
                     "' is in Fortran's order; write it with "
                     "np.ascontiguousarray()");
  ZC_ASSIGN_OR_RETURN(got, fill(column.rows, header->bytes));
  if (got < header->bytes)
    return endIn(column);
  column.samples += header->array.dims[0];
  column.like = std::move(header->array);
  return true;
}

Result<bool> ArrayStream::readRecord() {
  for (Column &column : columns) {
    ZC_ASSIGN_OR_RETURN(const bool isThere,
                        readArray(column, &column == &columns.front()));
    if (!isThere)
      return false;
  }
  ++records;
  return true;
}

NpyArray ArrayStream::take(Column &column, int64_t count) {
  const size_t bytes = column.rows.size() / size_t(column.samples) * count;
  auto rows = std::make_shared<std::string>();
  if (bytes == column.rows.size()) {
    rows->swap(column.rows);
  } else {
    *rows = column.rows.substr(0, bytes);
    column.rows.erase(0, bytes);
  }
  column.samples -= count;
  NpyArray array = *column.like;
  array.dims[0] = count;
  array.data = *rows;
  array.owner = std::move(rows);
  return array;
}

Result<std::optional<ArrayStream::Arrays>> ArrayStream::read(int64_t count) {
  while (columns.front().samples < count) {
    ZC_ASSIGN_OR_RETURN(const bool isThere, readRecord());
    if (!isThere)
      return std::optional<Arrays>();
  }
  Arrays arrays;
  for (Column &column : columns)
    arrays.emplace(column.input, take(column, count));
  return std::optional(std::move(arrays));
}

} // namespace zc
