#include "runtime/Comm/Group.h"
#include "runtime/Comm/Reduce.h"
#include "runtime/Plan/Collective/Schedule.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace zc {
namespace {

class Group final : public Communicator {
public:
  Group(World &world, std::vector<int> ranks, uint32_t channel)
      : world(world), members(std::move(ranks)), channel(channel) {
    auto self = std::find(members.begin(), members.end(), world.rank());
    assert(self != members.end() && "a group holds the rank that makes it");
    place = int(self - members.begin());
  }

  int rank() const override { return place; }
  int size() const override { return int(members.size()); }
  uint64_t sentBytes() const override { return sent; }
  Result<std::unique_ptr<Collective>>
  prepare(const CollectiveLaunch &launch) override;

  Status exchange(const std::vector<Transfer> &transfers) {
    for (const Transfer &transfer : transfers)
      sent += transfer.isSend ? transfer.bytes : 0;
    return transfers.empty() ? Status() : world.exchange(transfers, channel);
  }
  int worldRank(int64_t peer) const { return members[size_t(peer)]; }

private:
  World &world;
  std::vector<int> members;
  uint32_t channel;
  int place;
  std::atomic<uint64_t> sent{0}; // a trace may read it meanwhile
};

/// A schedule with addresses.
class Scheduled final : public Collective {
public:
  Scheduled(Group &group, const CollectiveLaunch &launch)
      : group(group), launch(launch) {
    const CollectiveShape &shape = launch.shape;
    if (!launch.workspace)
      own.resize(costOf(shape).workspaceBytes);
    Schedule schedule = scheduleOf(shape, group.rank());
    before = bind(schedule.before);
    for (const zc::Round &round : schedule.rounds) {
      rounds.push_back({{}, bind(round.after)});
      for (const Message &message : round.messages)
        rounds.back().transfers.push_back(
            {message.isSend, group.worldRank(message.peer),
             address(message.span), bytes(message.span)});
    }
  }

  Status run() override {
    ZC_RETURN_IF_ERROR(apply(before));
    for (const Bound &round : rounds) {
      ZC_RETURN_IF_ERROR(group.exchange(round.transfers));
      ZC_RETURN_IF_ERROR(apply(round.after));
    }
    return Status();
  }

private:
  struct Op {
    bool reduces;
    char *into;
    const char *from;
    int64_t count;
  };
  struct Bound {
    std::vector<Transfer> transfers;
    std::vector<Op> after;
  };

  /// The source is only read through it.
  char *address(const Span &span) {
    char *base = static_cast<char *>(launch.destination);
    if (span.place == Place::Source)
      base = const_cast<char *>(static_cast<const char *>(launch.source));
    else if (span.place == Place::Workspace)
      base =
          launch.workspace ? static_cast<char *>(launch.workspace) : own.data();
    return base + span.begin * launch.shape.elementBytes;
  }
  uint64_t bytes(const Span &span) const {
    return uint64_t(span.count * launch.shape.elementBytes);
  }
  std::vector<Op> bind(const std::vector<LocalOp> &ops) {
    std::vector<Op> bound;
    for (const LocalOp &op : ops)
      if (op.reduces || address(op.into) != address(op.from))
        bound.push_back(
            {op.reduces, address(op.into), address(op.from), op.into.count});
    return bound;
  }
  Status apply(const std::vector<Op> &ops) {
    for (const Op &op : ops) {
      if (op.reduces)
        ZC_RETURN_IF_ERROR(reduceInto(op.into, op.from, op.count, launch.type,
                                      launch.reduction));
      else if (op.count > 0)
        std::memcpy(op.into, op.from,
                    size_t(op.count * launch.shape.elementBytes));
    }
    return Status();
  }

  Group &group;
  const CollectiveLaunch launch;
  std::string own; // the workspace where the caller has none
  std::vector<Op> before;
  std::vector<Bound> rounds;
};

Result<std::unique_ptr<Collective>>
Group::prepare(const CollectiveLaunch &launch) {
  assert(launch.shape.ranks == size() && "a collective is of its whole group");
  return std::unique_ptr<Collective>(new Scheduled(*this, launch));
}

} // namespace

std::unique_ptr<Communicator> makeGroup(World &world, std::vector<int> members,
                                        uint32_t channel) {
  return std::make_unique<Group>(world, std::move(members), channel);
}

} // namespace zc
