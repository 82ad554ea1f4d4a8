// Ranks 0 and 1 exchange messages that proceed by themselves, over any
// transport.
#ifndef ZC_TEST_UNIT_RUNTIME_COMM_MESSAGECHECKS_H
#define ZC_TEST_UNIT_RUNTIME_COMM_MESSAGECHECKS_H

#include "runtime/Comm/World.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace zc::test {

using Milliseconds = std::chrono::milliseconds;

inline uint32_t lineChannel(uint32_t line) { return kFirstLineChannel + line; }

inline Status wrong(const std::string &what) {
  return Status(StatusCode::Internal, "a wrong message: " + what);
}

/// A message of line and place, of some number of bytes, none too.
inline std::vector<char> messageOf(int sender, uint32_t line, int place) {
  constexpr size_t kBytes[] = {5, 0, 70000, 1, 3000000};
  std::vector<char> bytes(kBytes[size_t(place) % std::size(kBytes)]);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = char(i * 7 + line * 31 + size_t(place) * 3 + size_t(sender));
  return bytes;
}

/// Many lines both ways; each rank posts and waits in an order of its own, all
/// before it waits for any.
inline Status manyLines(World &world) {
  constexpr uint32_t kLines = 6;
  constexpr int kPlaces = 5;
  struct One {
    uint32_t line;
    int place;
    bool isSend;
    std::vector<char> bytes;
    PostedMessage message;
  };
  const int me = world.rank(), peer = 1 - me;
  std::mt19937 random(unsigned(me) * 77 + 5);
  std::vector<std::pair<uint32_t, bool>> turns; // line, sends
  for (uint32_t line = 0; line < kLines; ++line)
    for (bool sends : {false, true})
      turns.insert(turns.end(), kPlaces, {line, sends});
  std::shuffle(turns.begin(), turns.end(), random);
  std::map<std::pair<uint32_t, bool>, int> next;
  std::vector<One> all;
  for (auto [line, sends] : turns) {
    One one{line, next[{line, sends}]++, sends, {}, {}};
    one.bytes = messageOf(sends ? me : peer, line, one.place);
    if (!sends)
      std::fill(one.bytes.begin(), one.bytes.end(), char(0x55));
    ZC_ASSIGN_OR_RETURN(one.message, world.post({sends, peer, one.bytes.data(),
                                                 uint64_t(one.bytes.size())},
                                                lineChannel(line)));
    all.push_back(std::move(one));
  }
  std::shuffle(all.begin(), all.end(), random);
  for (One &one : all) {
    ZC_RETURN_IF_ERROR(world.await(one.message));
    if (one.message.isUnderWay())
      return wrong("one has ended and is under way");
    if (one.bytes != messageOf(one.isSend ? me : peer, one.line, one.place))
      return wrong(std::to_string(one.line));
  }
  return world.all().barrier();
}

/// Rank 0 computes while its messages move; a file tells it that they have.
inline Status movesMeanwhile(World &world, const std::string &file) {
  std::vector<char> bytes(8 << 20, char(world.rank() + 1));
  ZC_RETURN_IF_ERROR(world.all().barrier());
  ZC_ASSIGN_OR_RETURN(PostedMessage message,
                      world.post({world.rank() == 0, 1 - world.rank(),
                                  bytes.data(), bytes.size()},
                                 lineChannel(3)));
  if (world.rank() == 1) {
    ZC_RETURN_IF_ERROR(world.await(message));
    std::ofstream(file) << "it has come";
    return std::count(bytes.begin(), bytes.end(), char(1)) == 8 << 20
               ? Status()
               : wrong("its bytes");
  }
  auto end = World::Clock::now() + Milliseconds(20000);
  while (!std::ifstream(file).good()) {
    if (World::Clock::now() > end)
      return wrong("it does not move while its sender computes");
    std::this_thread::sleep_for(Milliseconds(1));
  }
  return world.await(message);
}

/// A message comes though a collective that began before it still waits for
/// the other rank's side, and a message of another line is not received yet.
inline Status besideCollectives(World &world) {
  const int peer = 1 - world.rank();
  int32_t first = 10 + world.rank(), late = 20 + world.rank();
  std::vector<float> sums(300000, 1.0f);
  auto group = world.group({0, 1}, 1);
  Status side;
  std::thread thread;
  auto collect = [&] {
    thread = std::thread([&] {
      side = group->allReduce(sums.data(), int64_t(sums.size()),
                              ElementType::F32, Reduction::Sum);
    });
  };
  auto run = [&]() -> Status {
    PostedMessage held, message;
    if (world.rank() == 0) {
      collect();
      ZC_ASSIGN_OR_RETURN(
          held, world.post({true, peer, &late, sizeof(late)}, lineChannel(1)));
      std::this_thread::sleep_for(Milliseconds(50));
    }
    ZC_ASSIGN_OR_RETURN(
        message, world.post({world.rank() == 0, peer, &first, sizeof(first)},
                            lineChannel(0)));
    ZC_RETURN_IF_ERROR(world.await(message));
    if (world.rank() == 1) {
      ZC_ASSIGN_OR_RETURN(
          held, world.post({false, peer, &late, sizeof(late)}, lineChannel(1)));
      collect();
    }
    return world.await(held);
  };
  Status status = run();
  if (thread.joinable())
    thread.join();
  ZC_RETURN_IF_ERROR(status);
  ZC_RETURN_IF_ERROR(side);
  if (first != 10 || late != 20 || sums[299999] != 2.0f)
    return wrong("beside a collective");
  return world.all().barrier();
}

/// A receive that is taken back leaves its bytes alone; the next gets the
/// message.
inline Status takenBack(World &world) {
  int32_t value = world.rank() == 0 ? 7 : -1, untouched = -2;
  if (world.rank() == 1) {
    ZC_ASSIGN_OR_RETURN(
        PostedMessage message,
        world.post({false, 0, &untouched, sizeof(untouched)}, lineChannel(2)));
  }
  ZC_RETURN_IF_ERROR(world.all().barrier());
  ZC_ASSIGN_OR_RETURN(
      PostedMessage message,
      world.post({world.rank() == 0, 1 - world.rank(), &value, sizeof(value)},
                 lineChannel(2)));
  ZC_RETURN_IF_ERROR(world.await(message));
  ZC_RETURN_IF_ERROR(world.all().barrier());
  return value == 7 && untouched == -2 ? Status() : wrong("one taken back");
}

/// Rank 0 waits for a message that rank 1 neither sends nor receives; rank 1
/// waits for `over`, but not by its world.
inline Status isKeptWaiting(World &world, bool isSend,
                            const std::function<void()> &over) {
  std::vector<char> bytes(8 << 20);
  if (world.rank() == 1) {
    over();
    return Status();
  }
  world.setTimeout(Milliseconds(200));
  ZC_ASSIGN_OR_RETURN(
      PostedMessage message,
      world.post({isSend, 1, bytes.data(), bytes.size()}, lineChannel(0)));
  return world.await(message);
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_COMM_MESSAGECHECKS_H
