// Transfers that share links: all are given more bytes a second alike, until a
// link is full (max-min fairness; Bertsekas and Gallager 1992, section 6.5.2).
#ifndef ZC_RUNTIME_SIMULATE_SHAREDLINKS_H
#define ZC_RUNTIME_SIMULATE_SHAREDLINKS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zc {

/// Times are seconds from the beginning of the simulation.
class SharedLinks {
public:
  using Id = uint32_t;
  /// A rank's bytes over a link that takes those of so many equal ranks at
  /// once.
  struct Use {
    size_t link;
    double bytes;
    double ranks = 1;
  };

  /// A link of so many bytes per second; 0: any.
  size_t addLink(double bytesPerSecond);

  /// Begins a transfer at `now`, which is not before any earlier event.
  /// Ids of transfers that have ended are used again.
  Id begin(double now, std::vector<Use> uses);

  /// Ends the transfer at `now`: bytes not yet sent are dropped.
  void end(double now, Id id);

  /// The transfer that ends first if nothing else begins, and when; false:
  /// there is none.
  bool next(Id &id, double &time) const;

  bool isIdle() const { return active.empty(); }

private:
  struct Transfer {
    std::vector<Use> uses;
    double most = 0;    // bytes of a rank over one link
    double seconds = 0; // that all of it takes, at the rate it has
    double left = 1;    // share that is not sent yet
  };

  void advance(double now);
  void shareOut();

  std::vector<double> links; // bytes per second
  std::vector<Transfer> transfers;
  std::vector<Id> free, active;
  std::vector<double> room;   // of links, while shares are dealt out
  std::vector<double> demand; // of links, of those that still grow
  double last = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_SHAREDLINKS_H
