#include "runtime/Driver/OrderFeed.h"

#include <algorithm>

namespace zc {

Result<OrderFeed>
OrderFeed::create(const plan::Role &role, const plan::Order &order,
                  uint32_t microBatches, std::shared_ptr<const DataFile> data,
                  const FeedOptions &options, const Mesh &mesh, int64_t rank) {
  OrderFeed result;
  result.role = &role;
  result.data = std::move(data);
  result.ofStep = result.microBatches = microBatches;
  ZC_RETURN_IF_ERROR(result.addFeeds(order, options, mesh, rank));
  result.begin();
  return result;
}

Result<OrderFeed> OrderFeed::ofSteps(const plan::Role &role,
                                     const Orders &orders,
                                     std::shared_ptr<const DataFile> data,
                                     const Mesh &mesh, int64_t rank) {
  OrderFeed result;
  result.role = &role;
  result.data = std::move(data);
  result.ofStep = orders.microBatches;
  result.microBatches =
      std::max({result.ofStep, microBatchesOf(orders.prologue),
                microBatchesOf(orders.train)});
  for (const plan::Order *order : {&orders.prologue, &orders.train}) {
    result.ofPrologue = result.places.size();
    ZC_RETURN_IF_ERROR(result.addFeeds(*order, FeedOptions(), mesh, rank));
  }
  result.begin();
  return result;
}

void OrderFeed::begin() {
  for (auto &[program, feed] : feeds) {
    feed.setPlaces(microBatches);
    microBatch = std::max(microBatch, feed.batch());
    theSamples = std::max(theSamples, feed.samples());
    countsSamples |= feed.countsSamples();
    auto [inputs, labels] = feed.tokens();
    inputTokens = std::max(inputTokens, inputs);
    labelTokens = std::max(labelTokens, labels);
  }
}

Status OrderFeed::addFeeds(const plan::Order &order, const FeedOptions &options,
                           const Mesh &mesh, int64_t rank) {
  for (const plan::Action &action : order.actions()) {
    if (!action.has_feed())
      continue;
    const uint32_t program = action.feed().program();
    places.push_back({program, action.feed().micro_batch()});
    if (feeds.count(program))
      continue;
    ZC_ASSIGN_OR_RETURN(BatchFeed feed,
                        BatchFeed::create(role->programs(int(program)), data,
                                          options, mesh, rank));
    feeds.emplace(program, std::move(feed));
  }
  return Status();
}

Status OrderFeed::agree(World &world) {
  std::vector<int64_t> most = {theSamples, microBatch, inputTokens,
                               labelTokens};
  ZC_RETURN_IF_ERROR(world.agree(Status(), &most));
  Status status;
  if (countsSamples && theSamples != most[0])
    status = makeError(StatusCode::InvalidArgument, "'", data->path(),
                       "': inputs of one role have ", theSamples,
                       " samples, those of another ", most[0]);
  theSamples = most[0];
  microBatch = most[1];
  inputTokens = most[2];
  labelTokens = most[3];
  return world.agree(status);
}

std::vector<std::string> OrderFeed::notes() const {
  std::vector<std::string> all;
  for (const auto &[program, feed] : feeds)
    for (const std::string &note : feed.notes())
      if (std::find(all.begin(), all.end(), note) == all.end())
        all.push_back(note);
  return all;
}

Result<std::string> OrderFeed::explainNan(const std::vector<int64_t> &indices) {
  for (auto &[program, feed] : feeds) {
    ZC_ASSIGN_OR_RETURN(std::string cause, feed.explainNan(indices));
    if (!cause.empty())
      return cause;
  }
  return std::string();
}

void OrderFeed::rebind(const std::shared_ptr<const DataFile> &other) {
  data = other;
  for (auto &[program, feed] : feeds)
    feed.rebind(other);
}

void OrderFeed::readAhead(const Executor &executor) {
  for (auto &[program, feed] : feeds)
    readsAhead |= executor.isFedAhead(role->programs(int(program)));
  if (readsAhead)
    for (auto &[program, feed] : feeds)
      feed.setPlaces(2 * microBatches);
}

std::vector<int64_t> OrderFeed::partOf(const std::vector<int64_t> &indices,
                                       uint32_t part) const {
  const int64_t count = int64_t(indices.size());
  return {indices.begin() + std::min(count, part * microBatch),
          indices.begin() + std::min(count, (part + 1) * microBatch)};
}

/// Asks for files a hundred times a second at most: they may lie far away.
Status OrderFeed::checkSource() {
  const auto now = std::chrono::steady_clock::now();
  if (now - lookedAt < std::chrono::milliseconds(10))
    return Status();
  lookedAt = now;
  return data->checkUncut();
}

/// `indices` are those of the whole step.
const OrderFeed::Content &
OrderFeed::readPart(size_t room, const Place &place,
                    const std::vector<int64_t> &indices) {
  Content &content = contents[room][place];
  std::vector<int64_t> part = partOf(indices, place.second);
  if (content.isThere && content.indices == part)
    return content;
  content.isThere = true;
  content.status = checkSource();
  if (content.status.ok())
    content.status =
        feeds.at(place.first).read(placeOf(room, place.second), part);
  content.indices = std::move(part);
  return content;
}

Status OrderFeed::read(const std::vector<int64_t> &indices, bool isFirst) {
  contents[current].clear();
  if (readsAhead)
    current = 1 - current;
  for (size_t i = isFirst ? 0 : ofPrologue; i < places.size(); ++i) {
    // Behind the last step there are no samples to feed.
    if (places[i].second >= ofStep && partOf(indices, places[i].second).empty())
      continue;
    ZC_RETURN_IF_ERROR(readPart(current, places[i], indices).status);
  }
  return Status();
}

Status OrderFeed::write(Executor &executor, const plan::Feed &feed) {
  const Place place = {feed.program(), feed.micro_batch()};
  const Slots slots = slotsOf(programOf(place), feed.slots());
  if (onDevice == std::pair(place, contents[current][place].indices)) {
    onDevice.reset();
    return executor.takeFed(slots);
  }
  return feeds.at(place.first)
      .write(executor, placeOf(current, place.second), slots);
}

Status OrderFeed::writeAhead(Executor &executor, size_t room,
                             const Place &place) {
  std::pair wanted(place, contents[room][place].indices);
  if (!executor.isFedAhead(programOf(place)) || onDevice == wanted)
    return Status();
  onDevice = std::move(wanted);
  return feeds.at(place.first)
      .writeAhead(executor, placeOf(room, place.second));
}

Status
OrderFeed::meanwhile(Executor &executor, const plan::Feed *next,
                     const std::function<std::vector<int64_t>()> &following) {
  if (!readsAhead)
    return Status();
  if (next)
    ZC_RETURN_IF_ERROR(
        writeAhead(executor, current, {next->program(), next->micro_batch()}));
  const std::vector<int64_t> indices = following();
  if (indices.empty())
    return Status();
  const size_t room = 1 - current;
  for (const Place &place : places)
    if (!contents[room][place].isThere) {
      readPart(room, place, indices);
      break;
    }
  if (next || !readPart(room, places.front(), indices).status.ok())
    return Status();
  return writeAhead(executor, room, places.front());
}

std::optional<BatchFeed::Labels> OrderFeed::labels(uint32_t program,
                                                   uint32_t microBatch) const {
  auto found = feeds.find(program);
  return found == feeds.end()
             ? std::nullopt
             : found->second.labels(placeOf(current, microBatch));
}

} // namespace zc
