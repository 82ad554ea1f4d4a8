// Checks that all ranks of a run were started with the same options and data.
// Ranks that differ in them would each train something else, or wait for one
// another for ever.
#ifndef ZC_RUNTIME_DRIVER_ALIKE_H
#define ZC_RUNTIME_DRIVER_ALIKE_H

#include "runtime/Comm/World.h"
#include "runtime/Io/DataFile.h"

#include <string>
#include <vector>

namespace zc {

class Alike {
public:
  Alike() = default;
  Alike(const std::string &option, const std::string &value) {
    add(option, value);
  }

  /// An option and its value, as a message shows it: "--lr", "0.001".
  void add(const std::string &option, const std::string &value) {
    add(option, value, value);
  }
  /// Only whether it is given must be the same: a path may differ by host.
  void addGiven(const std::string &option, const std::string &value) {
    add(option, value.empty() ? "none" : value, value.empty() ? "" : "given");
  }
  /// Files, wherever they lie: names, types, shapes and a sample of what is in
  /// them; null: none.
  void addData(const std::string &option, const DataFile *data);

  /// Called by all ranks, each with the same options in the same order. Fails
  /// on all ranks, and names the options that differ and both their values.
  Status compare(World &world) const;

private:
  struct Item {
    std::string option, shown, compared;
  };

  void add(const std::string &option, const std::string &shown,
           const std::string &compared) {
    items.push_back({option, shown, compared});
  }
  Status tellApart(World &world, int other,
                   const std::vector<uint64_t> &hashes) const;

  std::vector<Item> items;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_ALIKE_H
