// Brings samples from data files into a program's inputs. Everything that can
// be checked is checked before the first step; values are as they are fed.
#ifndef ZC_RUNTIME_IO_BATCHFEED_H
#define ZC_RUNTIME_IO_BATCHFEED_H

#include "runtime/Exec/Executor.h"
#include "runtime/Io/Convert.h"
#include "runtime/Io/DataFile.h"

#include <optional>

namespace zc {

/// Where an array counts its samples.
enum class SampleAxis {
  First,   // training data: always the first axis
  Program, // evaluation inputs: as the model has it
};

struct FeedOptions {
  SampleAxis sampleAxis = SampleAxis::First;
  bool labelsMayMiss = false; // zeros are fed instead
};

class BatchFeed {
public:
  /// Fails with one message that names everything wrong with the data.
  static Result<BatchFeed> create(const plan::Program &program,
                                  std::shared_ptr<const DataFile> data,
                                  const FeedOptions &options,
                                  const Mesh &mesh = Mesh(), int64_t rank = 0);

  /// How many samples there are, and how many a run of the program takes. Both
  /// are 1 for a program whose inputs do not count samples. All ranks together.
  int64_t samples() const { return theSamples; }
  int64_t batch() const { return theBatch * shares; }

  /// Notes on arrays that differ from the program's inputs, in sentences.
  const std::vector<std::string> &notes() const { return theNotes; }

  /// Whether an input counts samples.
  bool countsSamples() const { return !samplesFrom.empty(); }

  /// How many integers a sample has in an input, and how many in labels; 0:
  /// none. Where they are equal they are tokens.
  std::pair<int64_t, int64_t> tokens() const;

  /// The labels that were read into a place, as this rank's program has them.
  struct Labels {
    const plan::Input *input;
    const plan::TensorType *type;
    const char *data;
    int64_t samples; // along the batch dim; behind them is padding
  };
  std::optional<Labels> labels(size_t place = 0) const;

  /// From now on samples come from other arrays, which are alike in all but
  /// their elements.
  void rebind(std::shared_ptr<const DataFile> other);

  /// Where the samples come from.
  const DataFile &source() const { return *data; }

  /// On the host there are so many places for batches; 1 to begin with.
  void setPlaces(size_t count);

  /// Reads and checks this rank's share of the samples named by `indices`, at
  /// most a batch of all ranks, into a place; a partial batch is padded with
  /// zeros of weight 0.
  Status read(size_t place, const std::vector<int64_t> &indices);

  /// Writes what was read into a place to the inputs of the program, whose call
  /// has these slots.
  Status write(Executor &executor, size_t place, const Slots &slots = {});

  /// Does as write(), but while the program runs on other samples: it reads
  /// these from Executor::takeFed() on. For programs that are fed ahead.
  Status writeAhead(Executor &executor, size_t place);

  /// Both at once.
  Status feed(Executor &executor, const std::vector<int64_t> &indices) {
    Status status = read(0, indices);
    return status.ok() ? write(executor, 0) : status;
  }

  /// Why the loss over these samples is NaN, from the data read anew: a NaN in
  /// an input, or labels that are all ignored. Empty if it is neither. The
  /// samples may be more than a batch, and those of all ranks.
  Result<std::string> explainNan(const std::vector<int64_t> &indices);

private:
  /// Samples from `first` on, in one stretch of memory.
  struct Segment {
    int64_t first;
    const char *data;
  };

  /// One input and the array or the tokens that feed it.
  struct Column {
    const plan::Input *input = nullptr;
    const plan::Buffer *buffer = nullptr;
    // The arrays of the samples; none: zeros, or the samples' weights.
    std::vector<Segment> segments;
    int itemSize = 0;
    Converter convert = nullptr;
    // The array as [outer][sample][inner] elements by strides.
    int64_t outer = 1, inner = 1, outerStride = 0, sampleStride = 0;
    // This rank's share of the `inner` elements: `runs` times `length`, the
    // first from `first` on, each `stride` behind the one before.
    int64_t runs = 1, length = 0, stride = 0, first = 0;
    std::vector<std::string> places; // batches as the buffer has them
  };

  BatchFeed(const plan::Program &program, std::shared_ptr<const DataFile> data)
      : program(&program), data(std::move(data)) {}
  Status addColumn(const plan::Input &input, const FeedOptions &options,
                   const Mesh &mesh, int64_t rank);
  void findShare(const Mesh &mesh, int64_t rank);
  static void findRuns(Column &column, const Mesh &mesh, int64_t rank);
  static int64_t convertRuns(const Column &column, const char *from, char *to);
  std::vector<int64_t> shareOf(const std::vector<int64_t> &indices) const;
  Status bindArray(Column &column, const NpyArray &array,
                   const FeedOptions &options);
  Status bindSegments(Column &column, const NpyArray &array);
  Status bindTokens(Column &column);
  Status checkTokenWidth(const plan::Input &input) const;
  Status countSamples(const Column &column, int64_t samples);
  Status fill(Column &column, size_t place);
  Status fillSamples(const Column &column, const std::vector<int64_t> &indices,
                     std::string &staging) const;
  Status fillSample(const Column &column, int64_t index, size_t b,
                    std::string &staging) const;
  Status fillWhole(const Column &column, std::string &staging) const;
  void fillWeights(std::string &staging, size_t count) const;
  Status checkRange(const Column &column, const std::string &staging,
                    int64_t first, int64_t count,
                    const std::string &where) const;

  const plan::Program *program;
  std::shared_ptr<const DataFile> data;
  std::vector<Column> columns;
  int64_t theSamples = 1, theBatch = 1;         // the batch of this rank
  int64_t shares = 1, share = 0;                // of a batch, and this rank's
  std::vector<std::vector<int64_t>> own = {{}}; // this rank's, by place
  std::string whyNone;                          // of no samples
  std::vector<std::string> theNotes;
  std::string samplesFrom; // the input that theSamples was read from
  std::string tokensFeed;  // the input that is a file's tokens
};

} // namespace zc

#endif // ZC_RUNTIME_IO_BATCHFEED_H
