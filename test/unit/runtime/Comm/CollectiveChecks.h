// The duties of every communicator, whatever moves its bytes:
// ConformanceTest.cpp runs these checks over each transport, NcclTest.cpp over
// NCCL. A new communicator registers with one of them and writes no test of
// sums.
#ifndef ZC_TEST_UNIT_RUNTIME_COMM_COLLECTIVECHECKS_H
#define ZC_TEST_UNIT_RUNTIME_COMM_COLLECTIVECHECKS_H

#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"
#include "runtime/Comm/Communicator.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace zc::test {

/// A rank of a group, and how it waits for the device that collectives run on;
/// ranks of the host need not.
struct GroupRank {
  Communicator &comm;
  std::function<Status()> finish = [] { return Status(); };

  int rank() const { return comm.rank(); }
  int size() const { return comm.size(); }
};

inline Status differs(const std::string &what, double found, double expected) {
  return makeError(StatusCode::Internal, what, ": found ", found, ", expected ",
                   expected);
}

inline Status addsWhateverTheCount(GroupRank &each) {
  const int p = each.size();
  for (int64_t count : {0, 1, 2, 7, 64, 1000, 300000}) {
    std::vector<float> data(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) // exact in any order of sums
      data[size_t(i)] = float((i % 100) * (each.rank() + 1));
    ZC_RETURN_IF_ERROR(each.comm.allReduce(data.data(), count, ElementType::F32,
                                           Reduction::Sum));
    ZC_RETURN_IF_ERROR(each.finish());
    for (int64_t i = 0; i < count; ++i)
      if (data[size_t(i)] != float((i % 100) * p * (p + 1) / 2))
        return differs("a sum of " + std::to_string(count), data[size_t(i)],
                       double((i % 100) * p * (p + 1) / 2));
  }
  return Status();
}

inline Status takesTheLargest(GroupRank &each) {
  int64_t data[] = {each.rank(), -each.rank(), 5};
  const int64_t expected[] = {each.size() - 1, 0, 5};
  ZC_RETURN_IF_ERROR(
      each.comm.allReduce(data, 3, ElementType::I64, Reduction::Max));
  ZC_RETURN_IF_ERROR(each.finish());
  for (int i = 0; i < 3; ++i)
    if (data[i] != expected[i])
      return differs("a maximum", double(data[i]), double(expected[i]));
  return Status();
}

/// A NaN that one rank has reaches all in a sum.
inline Status spreadsNan(GroupRank &each) {
  for (int owner = 0; owner < each.size(); ++owner) {
    const bool isMine = each.rank() == owner;
    float data[] = {isMine ? std::numeric_limits<float>::quiet_NaN() : 1.0f, 2};
    ZC_RETURN_IF_ERROR(
        each.comm.allReduce(data, 2, ElementType::F32, Reduction::Sum));
    ZC_RETURN_IF_ERROR(each.finish());
    if (!std::isnan(data[0]) || data[1] != 2.0f * float(each.size()))
      return differs("the sum with the NaN of rank " + std::to_string(owner),
                     data[0], NAN);
  }
  return Status();
}

/// Sums of 16-bit numbers that are exact in their type.
inline Status addsHalves(GroupRank &each) {
  for (ElementType type : {ElementType::BF16, ElementType::F16}) {
    const bool isHalf = type == ElementType::F16;
    const auto narrow = isHalf ? floatToHalf : floatToBfloat16;
    const auto widen = isHalf ? halfToFloat : bfloat16ToFloat;
    std::vector<uint16_t> data(7);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = narrow(float(i) + float(each.rank()));
    ZC_RETURN_IF_ERROR(each.comm.allReduce(data.data(), int64_t(data.size()),
                                           type, Reduction::Sum));
    ZC_RETURN_IF_ERROR(each.finish());
    const int p = each.size();
    for (size_t i = 0; i < data.size(); ++i)
      if (widen(data[i]) != float(p * int(i) + p * (p - 1) / 2))
        return differs("a sum of halves", widen(data[i]),
                       p * double(i) + p * (p - 1) / 2);
  }
  return Status();
}

inline Status gathersInOrder(GroupRank &each) {
  const int32_t part[] = {each.rank(), each.rank() * 10};
  std::vector<int32_t> all(size_t(2 * each.size()), -1);
  ZC_RETURN_IF_ERROR(each.comm.allGather(part, all.data(), sizeof(part)));
  ZC_RETURN_IF_ERROR(each.finish());
  for (int r = 0; r < each.size(); ++r)
    if (all[size_t(2 * r)] != r || all[size_t(2 * r + 1)] != r * 10)
      return differs("what rank " + std::to_string(r) + " gave",
                     all[size_t(2 * r)], r);
  return Status();
}

inline Status scattersSums(GroupRank &each) {
  const int p = each.size();
  std::vector<double> all(size_t(3 * p));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = double(i) + each.rank();
  double part[3];
  ZC_RETURN_IF_ERROR(each.comm.reduceScatter(all.data(), part, 3,
                                             ElementType::F64, Reduction::Sum));
  ZC_RETURN_IF_ERROR(each.finish());
  for (int i = 0; i < 3; ++i) {
    const double expected = p * (3.0 * each.rank() + i) + p * (p - 1) / 2.0;
    if (part[i] != expected)
      return differs("a part of a sum", part[i], expected);
  }
  return Status();
}

inline Status broadcastsFromEveryRoot(GroupRank &each) {
  for (int root = 0; root < each.size(); ++root) {
    int32_t value = each.rank() == root ? 42 + root : 0;
    ZC_RETURN_IF_ERROR(each.comm.broadcast(&value, sizeof(value), root));
    ZC_RETURN_IF_ERROR(each.finish());
    if (value != 42 + root)
      return differs("a broadcast", value, 42 + root);
  }
  return Status();
}

/// One collective, made ready once, runs many times on what its buffers hold.
inline Status runsAgain(GroupRank &each) {
  float value = 0;
  CollectiveLaunch launch;
  launch.shape = {plan::ALL_REDUCE, plan::AUTO, each.size(), 1, sizeof(float)};
  launch.source = launch.destination = &value;
  ZC_ASSIGN_OR_RETURN(auto collective, each.comm.prepare(launch));
  for (int round = 1; round <= 3; ++round) {
    value = float(round);
    ZC_RETURN_IF_ERROR(collective->run());
    ZC_RETURN_IF_ERROR(each.finish());
    if (value != float(round * each.size()))
      return differs("round " + std::to_string(round), value,
                     round * each.size());
  }
  return Status();
}

/// Our own schedules count: the bytes that a rank sends are those of the closed
/// form of a ring. This is none of kCollectiveChecks.
inline Status countsSentBytes(GroupRank &each) {
  const uint64_t p = uint64_t(each.size());
  std::vector<float> data(16 * p, 1.0f);
  const uint64_t bytes = data.size() * sizeof(float);
  const uint64_t before = each.comm.sentBytes();
  ZC_RETURN_IF_ERROR(each.comm.allReduce(data.data(), int64_t(data.size()),
                                         ElementType::F32, Reduction::Sum));
  ZC_RETURN_IF_ERROR(each.finish());
  const uint64_t sent = each.comm.sentBytes() - before;
  return sent == 2 * bytes * (p - 1) / p
             ? Status()
             : differs("bytes sent", double(sent),
                       double(2 * bytes * (p - 1) / p));
}

struct CollectiveCheck {
  const char *name;
  Status (*run)(GroupRank &);
};

inline constexpr CollectiveCheck kCollectiveChecks[] = {
    {"AddsWhateverTheCount", addsWhateverTheCount},
    {"TakesTheLargest", takesTheLargest},
    {"SpreadsNan", spreadsNan},
    {"AddsHalves", addsHalves},
    {"GathersInOrder", gathersInOrder},
    {"ScattersSums", scattersSums},
    {"BroadcastsFromEveryRoot", broadcastsFromEveryRoot},
    {"RunsAgain", runsAgain},
};

/// All of them in turn; the first failure says which.
inline Status checkCollectives(GroupRank each) {
  for (const CollectiveCheck &check : kCollectiveChecks)
    if (Status status = check.run(each); !status.ok())
      return makeError(status.code(), check.name, ": ", status.message());
  return Status();
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_COMM_COLLECTIVECHECKS_H
