// A collective as messages between pairs of ranks and what is done with them:
// the transports' own collectives, and what their counted bytes are held
// against. Cost.h has the closed forms.
#ifndef ZC_RUNTIME_PLAN_COLLECTIVE_SCHEDULE_H
#define ZC_RUNTIME_PLAN_COLLECTIVE_SCHEDULE_H

#include "runtime/Plan/Collective/Cost.h"

#include <vector>

namespace zc {

enum class Place : uint8_t { Source, Destination, Workspace };

/// `count` elements of a rank's buffer, from `begin` on.
struct Span {
  Place place;
  int64_t begin, count;
};

struct Message {
  bool isSend;
  int64_t peer;
  Span span;
};

/// into = from, or into = into (+) from, on equally many elements.
struct LocalOp {
  bool reduces;
  Span into, from;
};

/// All messages of a round are under way at once; then come the local
/// operations, in order.
struct Round {
  std::vector<Message> messages;
  std::vector<LocalOp> after;
};

/// One rank's part of a collective. All ranks of a group have equally many
/// rounds, and a message is sent and received in the same round.
struct Schedule {
  std::vector<LocalOp> before;
  std::vector<Round> rounds;
};

/// The source stays as it is, unless it is the destination. All ranks get the
/// same bits from a reduction: each element is added up in one order.
Schedule scheduleOf(const CollectiveShape &shape, int64_t rank);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_COLLECTIVE_SCHEDULE_H
