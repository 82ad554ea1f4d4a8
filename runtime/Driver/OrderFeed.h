// Samples for the programs that a role's orders feed: those of a whole step are
// read and checked on the host before its first action.
#ifndef ZC_RUNTIME_DRIVER_ORDERFEED_H
#define ZC_RUNTIME_DRIVER_ORDERFEED_H

#include "runtime/Io/BatchFeed.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>

namespace zc {

class OrderFeed {
public:
  /// Fails with one message that names everything wrong with the data. The role
  /// will run `order`, or an order that feeds alike, of `microBatches`, of
  /// which the role may compute some.
  static Result<OrderFeed>
  create(const plan::Role &role, const plan::Order &order,
         uint32_t microBatches, std::shared_ptr<const DataFile> data,
         const FeedOptions &options, const Mesh &mesh, int64_t rank);

  /// For steps that overlap: a step feeds micro-batches of later ones, too.
  static Result<OrderFeed> ofSteps(const plan::Role &role, const Orders &orders,
                                   std::shared_ptr<const DataFile> data,
                                   const Mesh &mesh, int64_t rank);

  /// All ranks: of roles that feed nothing, the others know how many samples
  /// there are. Until then it is what this role knows.
  Status agree(World &world);

  /// How many samples there are, and how many an order takes.
  int64_t samples() const { return theSamples; }
  int64_t batch() const { return microBatch * int64_t(ofStep); }
  /// How many of them are in a micro-batch.
  int64_t microBatchSamples() const { return microBatch; }

  /// The tokens of a sample, like BatchFeed's.
  int64_t tokensPerSample() const {
    return inputTokens == labelTokens ? inputTokens : 0;
  }
  std::vector<std::string> notes() const;
  const DataFile &source() const { return *data; }
  Result<std::string> explainNan(const std::vector<int64_t> &indices);

  /// Does as BatchFeed::rebind().
  void rebind(const std::shared_ptr<const DataFile> &other);

  /// From now on the samples of the next step are read while the device works,
  /// where it does so by itself.
  void readAhead(const Executor &executor);
  /// Whether that is so.
  bool isReadAhead() const { return readsAhead; }

  /// Reads and checks the samples of a step, at most batch(): micro-batches are
  /// consecutive parts of them. Where steps overlap, those of later steps
  /// follow, and `isFirst` says that the step is the first of a run.
  Status read(const std::vector<int64_t> &indices, bool isFirst = true);

  /// Writes a micro-batch of them to the inputs.
  Status write(Executor &executor, const plan::Feed &feed);

  /// While the device works: brings it the samples of the feed `next`, or, if
  /// that is null, of the first feed of the following step; and reads samples
  /// of that step, which `following` lists, none if there is no such step.
  /// Errors in them are reported by read().
  Status meanwhile(Executor &executor, const plan::Feed *next,
                   const std::function<std::vector<int64_t>()> &following);

  /// The labels of a program's micro-batch.
  std::optional<BatchFeed::Labels> labels(uint32_t program,
                                          uint32_t microBatch) const;

private:
  using Place = std::pair<uint32_t, uint32_t>; // program, micro-batch
  /// The samples in a place on the host.
  struct Content {
    bool isThere = false;
    std::vector<int64_t> indices;
    Status status;
  };

  std::vector<int64_t> partOf(const std::vector<int64_t> &indices,
                              uint32_t part) const;
  Status addFeeds(const plan::Order &order, const FeedOptions &options,
                  const Mesh &mesh, int64_t rank);
  void begin();
  /// Where BatchFeed has a micro-batch. `room`: this step's or the next one's.
  size_t placeOf(size_t room, uint32_t part) const {
    return room * microBatches + part;
  }
  const Content &readPart(size_t room, const Place &place,
                          const std::vector<int64_t> &indices);
  Status checkSource();
  Status writeAhead(Executor &executor, size_t room, const Place &place);
  const plan::Program &programOf(const Place &place) const {
    return role->programs(int(place.first));
  }

  const plan::Role *role = nullptr;
  std::shared_ptr<const DataFile> data;
  std::chrono::steady_clock::time_point lookedAt; // the files of `data`
  std::map<uint32_t, BatchFeed> feeds;            // by program
  std::vector<Place> places;                      // in the order of the feeds
  uint32_t microBatches = 1;                      // that a step feeds
  uint32_t ofStep = 1;                            // those that are its own
  size_t ofPrologue = 0;                          // the first of `places`
  int64_t theSamples = 1, microBatch = 1;
  int64_t inputTokens = 0, labelTokens = 0;
  bool countsSamples = false; // by data of its own
  bool readsAhead = false;
  size_t current = 0; // of two rooms for each place, this step's
  std::map<Place, Content> contents[2];
  /// The samples that were fed ahead, and their place.
  std::optional<std::pair<Place, std::vector<int64_t>>> onDevice;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_ORDERFEED_H
