#include "runtime/Comm/World.h"
#include "runtime/Base/Ending.h"
#include "runtime/Comm/Group.h"

#include <algorithm>
#include <set>
#include <thread>

namespace zc {

using std::chrono::milliseconds;

static constexpr milliseconds kDefaultTimeout(600 * 1000);
// How long a rank that lives may take to say whom it waits for.
static constexpr milliseconds kAnswerTime(1000), kLeastAnswerTime(50);
// So that of ranks whose time ends together the lowest speaks first.
static constexpr milliseconds kTurn(100);
// A device that is about to be done is asked again and again, later less often.
static constexpr milliseconds kEager(2);
static constexpr std::chrono::microseconds kNap(50);
static constexpr int kMostTurns = 20;

static Status cancelled() {
  return Status(StatusCode::Cancelled, "another rank failed");
}

static std::vector<int> countTo(int size) {
  std::vector<int> ranks(size);
  for (int r = 0; r < size; ++r)
    ranks[r] = r;
  return ranks;
}

World::World() : World(nullptr) {}

World::World(std::unique_ptr<Transport> given)
    : transport(std::move(given)), theRank(transport ? transport->rank() : 0),
      theSize(transport ? transport->size() : 1), timeout(kDefaultTimeout),
      everyone(group(countTo(theSize), 0)) {}

World::~World() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    closing = true;
  }
  changed.notify_all();
  if (mover.joinable())
    mover.join();
  if (transport)
    transport->close(failed);
}

std::unique_ptr<Communicator> World::group(std::vector<int> members,
                                           uint32_t channel) {
  return makeGroup(*this, std::move(members), channel);
}

Status World::agree(const Status &mine, std::vector<int64_t> *largest,
                    Communicator *through) {
  if (theSize == 1 || mine.code() == StatusCode::Cancelled)
    return mine;
  // The lowest rank that failed, and whether any did not.
  std::vector<int64_t> told = {mine.ok() ? 0 : theSize - theRank, mine.ok()};
  if (largest)
    told.insert(told.end(), largest->begin(), largest->end());
  Communicator &group = through ? *through : *everyone;
  ZC_RETURN_IF_ERROR(group.allReduce(told.data(), int64_t(told.size()),
                                     ElementType::I64, Reduction::Max));
  if (largest)
    largest->assign(told.begin() + 2, told.end());
  if (told[0] == 0)
    return Status();
  // A rank that was stopped for long may find only now what others, which had
  // failed, left to it: it hears them before it speaks.
  readNotes();
  std::lock_guard<std::mutex> lock(mutex);
  const bool isLowest = told[0] == theSize - theRank;
  const bool speaks = isLowest && (!failed || mustTell);
  failed = true;
  mustTell |= speaks; // another thread's failure is to be told as well
  if (!speaks)
    return cancelled();
  return told[1] ? mine.withContext(strCat("rank ", theRank)) : mine;
}

void World::tellOthers(Note::Kind kind) {
  for (int peer = 0; peer < theSize; ++peer)
    if (peer != theRank)
      transport->sendNote(peer, {kind, theRank, 0});
}

void World::tellTold() { tellOthers(Note::Told); }

bool World::awaitTold(milliseconds limit) {
  if (theSize == 1)
    return true;
  const Clock::time_point end = Clock::now() + limit;
  while (true) {
    uint64_t ticket = transport->ticket();
    readNotes();
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (isTold)
        return true;
    }
    if (Clock::now() >= end)
      return false;
    transport->pause(ticket);
  }
}

Status World::fail(const Status &mine) {
  // A rank that was stopped for long fails late, and often only because the
  // others went: it hears them before it speaks.
  if (theSize > 1)
    readNotes();
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failed)
      return mustTell || theSize == 1 ? mine : cancelled();
    failed = mustTell = true;
  }
  tellOthers(Note::Failed);
  return theSize > 1 ? mine.withContext(strCat("rank ", theRank)) : mine;
}

bool World::hasFailed() {
  std::lock_guard<std::mutex> lock(mutex);
  return failed;
}

void World::readNotes() {
  while (std::optional<Note> note = transport->nextNote()) {
    std::unique_lock<std::mutex> lock(mutex);
    switch (note->kind) {
    case Note::Failed:
      failed = true;
      break;
    case Note::Told:
      isTold = true;
      break;
    case Note::Answer:
      answers[note->from] = note->value;
      break;
    case Note::Ask: {
      int32_t whom = waiting.empty() ? -1 : *waiting.begin();
      lock.unlock();
      transport->sendNote(note->from, {Note::Answer, theRank, whom});
      break;
    }
    }
  }
}

/// Messages that have begun; those that are not waited for to the end are
/// taken back.
struct World::Pending {
  struct Item {
    RequestId request;
    int peer;
  };
  ~Pending() {
    for (const Item &item : items)
      transport.cancel(item.request);
  }
  Transport &transport;
  std::vector<Item> items;
  const char *doing = "in a collective for"; // whom is waited for
};

Status World::exchange(const std::vector<Transfer> &transfers,
                       uint32_t channel) {
  if (hasFailed())
    return cancelled();
  Pending pending{*transport, {}};
  for (bool sends : {false, true})
    for (const Transfer &transfer : transfers) {
      if (transfer.isSend != sends)
        continue;
      Result<RequestId> request =
          sends ? transport->send(transfer.peer, channel, transfer.data,
                                  transfer.bytes)
                : transport->receive(transfer.peer, channel, transfer.data,
                                     transfer.bytes);
      if (!request.ok())
        return peerGone(request.status());
      pending.items.push_back({*request, transfer.peer});
    }
  return wait(pending);
}

Result<PostedMessage> World::post(const Transfer &transfer, uint32_t channel) {
  assert(transport && channel >= kFirstLineChannel && "a line between ranks");
  if (hasFailed())
    return cancelled();
  // Before the other side can know of it, so that it moves from the start.
  begun();
  Result<RequestId> request =
      transfer.isSend ? transport->send(transfer.peer, channel, transfer.data,
                                        transfer.bytes)
                      : transport->receive(transfer.peer, channel,
                                           transfer.data, transfer.bytes);
  if (!request.ok()) {
    ended();
    return peerGone(request.status());
  }
  PostedMessage message;
  message.world = this;
  message.request = *request;
  message.transfer = transfer;
  return message;
}

Status World::await(PostedMessage &message) {
  if (!message.isUnderWay())
    return Status();
  Pending pending{*transport,
                  {{message.request, message.transfer.peer}},
                  message.transfer.isSend ? "until a message could be sent to"
                                          : "for a message from"};
  message.world = nullptr; // taken back by `pending` from here on
  Status status = wait(pending);
  ended();
  return status;
}

void PostedMessage::cancel() {
  if (!world)
    return;
  world->transport->cancel(request);
  world->ended();
  world = nullptr;
}

void World::begun() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++posted;
    if (!mover.joinable())
      mover = std::thread([this] { moveMessages(); });
  }
  changed.notify_all();
}

void World::ended() {
  std::lock_guard<std::mutex> lock(mutex);
  --posted;
}

/// Moves messages in both directions while this rank's own threads
/// compute.
void World::moveMessages() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return closing || posted > 0; });
    if (closing)
      return;
    lock.unlock();
    if (!transport->moveAlong())
      return;
    lock.lock();
  }
}

/// Tells whoever asks whom this thread waits for.
class World::Waiting {
public:
  Waiting(World &world, int peer) : world(world) {
    std::lock_guard<std::mutex> lock(world.mutex);
    entry = world.waiting.insert(peer);
  }
  ~Waiting() {
    std::lock_guard<std::mutex> lock(world.mutex);
    world.waiting.erase(entry);
  }
  Waiting(const Waiting &) = delete;

private:
  World &world;
  std::multiset<int>::iterator entry;
};

/// Strikes out what has finished.
Status World::look(Pending &pending) {
  auto &items = pending.items;
  for (size_t i = 0; i < items.size();) {
    ZC_ASSIGN_OR_RETURN(bool finished, transport->finished(items[i].request));
    if (finished)
      items.erase(items.begin() + long(i));
    else
      ++i;
  }
  return Status();
}

Status World::wait(Pending &pending) {
  const milliseconds allowed = timeout + kTurn * std::min(theRank, kMostTurns);
  std::optional<Waiting> waits;
  Clock::time_point since = Clock::now();
  size_t left = pending.items.size() + 1;
  while (true) {
    uint64_t ticket = transport->ticket();
    if (Status status = look(pending); !status.ok())
      return peerGone(status);
    if (pending.items.empty())
      return Status();
    if (pending.items.size() < left) {
      left = pending.items.size();
      since = Clock::now();
      waits.reset();
      waits.emplace(*this, pending.items.front().peer);
    }
    readNotes();
    if (hasFailed())
      return cancelled();
    if (Clock::now() - since > allowed)
      return timedOut(pending.items.front().peer, pending.doing);
    transport->pause(ticket);
  }
}

Status World::waitFor(const std::function<Result<bool>()> &done) {
  const milliseconds allowed = timeout + kTurn * std::min(theRank, kMostTurns);
  const Clock::time_point since = Clock::now();
  Waiting waits(*this, theRank); // for nobody that messages could name
  while (true) {
    Result<bool> is = done();
    if (!is.ok())
      return theSize > 1 ? peerGone(is.status()) : is.status();
    if (*is)
      return Status();
    if (theSize > 1)
      readNotes();
    if (hasFailed())
      return cancelled();
    Clock::duration waited = Clock::now() - since;
    if (theSize > 1 && waited > allowed)
      return timedOutTogether();
    if (waited < kEager)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kNap);
  }
}

void World::rest(milliseconds time) {
  Clock::time_point end = Clock::now() + time;
  do {
    uint64_t ticket = transport->ticket();
    readNotes();
    if (hasFailed())
      return;
    transport->pause(ticket);
  } while (Clock::now() < end);
}

/// A rank that failed says so before it goes; only of one that died without a
/// word must others speak, and of those the lowest does.
Status World::peerGone(const Status &why) {
  rest(kTurn * (1 + std::min(theRank, kMostTurns)));
  if (hasFailed())
    return cancelled();
  noteLostRank();
  return fail(why);
}

/// Whom a rank waits for, -1 for nobody; nothing when it does not answer.
std::optional<int> World::ask(int peer) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    answers.erase(peer);
  }
  transport->sendNote(peer, {Note::Ask, theRank, 0});
  Clock::time_point end =
      Clock::now() + std::clamp(timeout, kLeastAnswerTime, kAnswerTime);
  while (Clock::now() < end && !hasFailed()) {
    rest(milliseconds(1));
    std::lock_guard<std::mutex> lock(mutex);
    auto found = answers.find(peer);
    if (found != answers.end())
      return found->second;
  }
  return std::nullopt;
}

/// Nobody knows whom a device's library waits for: the lowest rank that does
/// not say that it waits as well is the one.
Status World::timedOutTogether() {
  std::string whom = "all ranks, which wait as well: they are not in the same "
                     "collective";
  for (int peer = 0; peer < theSize && !hasFailed(); ++peer) {
    if (peer == theRank)
      continue;
    std::optional<int> answer = ask(peer);
    if (answer && *answer >= 0)
      continue;
    whom = strCat("rank ", peer,
                  answer ? ", which takes no part in it"
                         : ", which does not answer");
    break;
  }
  noteLostRank();
  return fail(makeError(
      StatusCode::DeadlineExceeded, "waited ", double(timeout.count()) / 1000,
      " s in a collective on the device for ", whom, " (--timeout)"));
}

/// The rank waited for may wait itself: finds the one that keeps all.
Status World::timedOut(int peer, const char *doing) {
  std::set<int> asked = {theRank};
  const char *why = "which does not answer";
  while (!hasFailed()) {
    if (!asked.insert(peer).second) {
      why = "which waits as well: these ranks wait for one another";
      break;
    }
    std::optional<int> next = ask(peer);
    if (!next)
      break;
    if (*next < 0) {
      why = "which takes no part in it";
      break;
    }
    peer = *next;
  }
  noteLostRank();
  return fail(makeError(StatusCode::DeadlineExceeded, "waited ",
                        double(timeout.count()) / 1000, " s ", doing, " rank ",
                        peer, ", ", why, " (--timeout)"));
}

} // namespace zc
