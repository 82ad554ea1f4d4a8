// Samples that arrive: records of .npy arrays, one after another, on a
// descriptor.
#ifndef ZC_RUNTIME_IO_ARRAYSTREAM_H
#define ZC_RUNTIME_IO_ARRAYSTREAM_H

#include "runtime/Plan/Npy.h"

#include <functional>
#include <map>

namespace zc {

/// A record is an array for each input, in the order of their names here, all
/// of as many samples along their first axis. Records may have any number of
/// them each.
class ArrayStream {
public:
  /// `descriptor` stays its owner's; messages call it `name`. While nothing
  /// arrives, `isStopped` says whether to wait for more.
  ArrayStream(int descriptor, std::string name, std::vector<std::string> inputs,
              std::function<bool()> isStopped);

  /// The next `count` samples of every input, by name; nothing at the end,
  /// where fewer are left, or once it was stopped.
  using Arrays = std::map<std::string, NpyArray>;
  Result<std::optional<Arrays>> read(int64_t count);

  /// Samples that arrived and were not handed out.
  int64_t left() const { return columns.front().samples; }

private:
  /// An input's samples that have arrived.
  struct Column {
    std::string input;
    std::optional<NpyArray> like; // the first array, without its data
    std::string rows;
    int64_t samples = 0;
  };

  Result<bool> readRecord();
  Result<bool> readArray(Column &column, bool mayEnd);
  Result<size_t> fill(std::string &bytes, size_t size);
  Status checkAlike(const Column &column, const NpyArray &array) const;
  Result<bool> endIn(const Column &column) const;
  static NpyArray take(Column &column, int64_t count);

  int descriptor;
  std::string name;
  std::function<bool()> isStopped;
  std::vector<Column> columns;
  int64_t records = 0; // read whole
};

} // namespace zc

#endif // ZC_RUNTIME_IO_ARRAYSTREAM_H
