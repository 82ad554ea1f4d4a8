#include "runtime/Io/BatchFeed.h"
#include "runtime/Base/ParallelParts.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>

namespace zc {

namespace {

/// The names that a data file has, for messages.
std::string listNames(const DataFile &data) {
  std::string names;
  for (const auto &[name, array] : data.arrays())
    names += (names.empty() ? "'" : ", '") + name + "'";
  return names.empty() ? "nothing" : names;
}

/// The shape that an array must have; "N" where it counts samples.
std::string expectedShape(const plan::TensorType &type, int axis,
                          const std::vector<int64_t> &dims) {
  // Integers of every width are taken, as far as their values fit.
  std::string text = strCat(isInteger(type.dtype()) ? "any integers, as " : "",
                            typeName(type.dtype()), " [");
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") +
            (int(i) == axis ? std::string("N") : std::to_string(dims[i]));
  return text + "]";
}

} // namespace

Result<BatchFeed> BatchFeed::create(const plan::Program &program,
                                    std::shared_ptr<const DataFile> data,
                                    const FeedOptions &options,
                                    const Mesh &mesh, int64_t rank) {
  BatchFeed feed(program, std::move(data));
  feed.findShare(mesh, rank);
  std::string problems;
  for (const plan::Input &input : program.inputs())
    if (Status status = feed.addColumn(input, options, mesh, rank);
        !status.ok())
      problems += (problems.empty() ? "" : "\n") + status.message();
  if (!problems.empty())
    return Status(StatusCode::InvalidArgument, problems);
  if (feed.theSamples < 1)
    return makeError(StatusCode::InvalidArgument, "'", feed.data->path(),
                     "' has no samples", feed.whyNone);
  return feed;
}

/// All inputs that count samples divide them along the same axes.
void BatchFeed::findShare(const Mesh &mesh, int64_t rank) {
  for (const plan::Input &input : program->inputs())
    if (input.batch_dim() >= 0) {
      shares = mesh.groupSize(input.batch_axes());
      share = mesh.placeInGroup(rank, input.batch_axes());
    }
}

/// The dims of what feeds a buffer: those of the whole tensor where other dims
/// than the samples' are divided among ranks.
static std::vector<int64_t> fedDims(const plan::Input &input,
                                    const plan::TensorType &type) {
  std::vector<int64_t> dims(type.dims().begin(), type.dims().end());
  for (int i = 0; i < input.sharding().dims_size(); ++i)
    if (i != input.batch_dim() && i < input.whole_dims_size() &&
        input.sharding().dims(i).axes_size() > 0)
      dims[size_t(i)] = input.whole_dims(i);
  return dims;
}

/// Finds this rank's elements behind the samples' dim, of which one dim at most
/// is divided (verifyInputSharding).
void BatchFeed::findRuns(Column &column, const Mesh &mesh, int64_t rank) {
  const plan::Input &input = *column.input;
  const plan::TensorType &type = column.buffer->type();
  std::vector<int64_t> dims = fedDims(input, type);
  column.length = column.stride = 1;
  for (int i = input.batch_dim() + 1; i < type.dims_size(); ++i) {
    column.length *= type.dims(i);
    column.stride *= dims[size_t(i)];
  }
  for (int i = 0; i < input.sharding().dims_size(); ++i) {
    const auto &axes = input.sharding().dims(i).axes();
    if (i == input.batch_dim() || axes.empty())
      continue;
    for (int outer = input.batch_dim() + 1; outer < i; ++outer)
      column.runs *= type.dims(outer);
    column.length /= column.runs;
    column.stride /= column.runs;
    column.first = column.length * mesh.placeInGroup(rank, axes);
  }
}

/// Converts this rank's elements of a sample, or of the whole array; returns
/// how many, up to the first that does not fit.
int64_t BatchFeed::convertRuns(const Column &column, const char *from,
                               char *to) {
  const int64_t bytes = elementBytes(column.buffer->type().dtype());
  for (int64_t run = 0; run < column.runs; ++run) {
    int64_t place = run * column.stride + column.first;
    int64_t done =
        column.convert(from + place * column.itemSize,
                       to + run * column.length * bytes, column.length);
    if (done < column.length)
      return run * column.length + done;
  }
  return column.runs * column.length;
}

Status BatchFeed::addColumn(const plan::Input &input,
                            const FeedOptions &options, const Mesh &mesh,
                            int64_t rank) {
  Column column;
  column.input = &input;
  column.buffer = &program->buffers(input.buffer());
  findRuns(column, mesh, rank);
  column.places.assign(own.size(),
                       std::string(*byteCount(column.buffer->type()), '\0'));
  if (input.batch_dim() >= 0)
    theBatch = column.buffer->type().dims(input.batch_dim());
  auto found = data->arrays().find(input.name());
  if (!data->tokens().empty() && !input.is_sample_weight()) {
    ZC_RETURN_IF_ERROR(bindTokens(column));
  } else if (found != data->arrays().end() && !input.is_sample_weight()) {
    ZC_RETURN_IF_ERROR(bindArray(column, found->second, options));
  } else if (!input.is_sample_weight() &&
             !(input.is_label() && options.labelsMayMiss)) {
    ZC_RETURN_IF_ERROR(data->whyUnread(input.name()));
    return makeError(StatusCode::InvalidArgument, "'", data->path(),
                     "' lacks the input '", input.name(), "'; it has ",
                     listNames(*data));
  }
  columns.push_back(std::move(column));
  return Status();
}

/// Whether two shapes differ in trailing dims of 1 alone: [N] and [N, 1].
static bool differByOnes(std::vector<int64_t> left,
                         std::vector<int64_t> right) {
  while (left.size() > right.size() && left.back() == 1)
    left.pop_back();
  while (right.size() > left.size() && right.back() == 1)
    right.pop_back();
  return left == right;
}

/// Checks type and shape, and finds out how to walk the array.
Status BatchFeed::bindArray(Column &column, const NpyArray &array,
                            const FeedOptions &options) {
  const plan::TensorType &type = column.buffer->type();
  int batchDim = column.input->batch_dim();
  std::vector<int64_t> expected = fedDims(*column.input, type);
  const std::vector<int64_t> dims = expected;
  int axis = batchDim;
  if (batchDim >= 0 && options.sampleAxis == SampleAxis::First) {
    std::rotate(expected.begin(), expected.begin() + batchDim,
                expected.begin() + batchDim + 1);
    axis = 0;
  }
  const std::string whose = strCat(
      "'", data->path(), "': '", column.input->name(), "' is ", array.print());
  column.convert = findConverter(array, type.dtype());
  if (!column.convert)
    column.convert =
        findMeantConverter(array, type.dtype(), column.input->is_label());
  const NpyArray same = describeElements(type.dtype());
  // NumPy has no bfloat16, so that nobody could bring such elements.
  const bool isSame = same.itemSize == 0 || (array.kind == same.kind &&
                                             array.itemSize == same.itemSize);
  if (column.convert && !isSame)
    theNotes.push_back(
        strCat(whose, ", which is converted to ", typeName(type.dtype())));
  column.itemSize = array.itemSize;
  // Where samples are counted, any number is right.
  std::vector<int64_t> wanted = expected;
  if (axis >= 0 && size_t(axis) < array.dims.size())
    wanted[size_t(axis)] = array.dims[size_t(axis)];
  bool agrees = array.dims == wanted;
  if (!agrees && axis == 0 && column.convert && !array.dims.empty() &&
      differByOnes(array.dims, wanted)) {
    agrees = true;
    theNotes.push_back(
        strCat(whose, ", taken for ", expectedShape(type, axis, expected)));
  }
  if (!agrees || !column.convert)
    return makeError(StatusCode::InvalidArgument, "'", data->path(), "': '",
                     column.input->name(), "' is ", array.print(),
                     "; expected ", expectedShape(type, axis, expected),
                     batchDim >= 0 ? ", N samples" : "",
                     agrees ? "; change it with .astype()" : "");
  if (batchDim < 0) {
    column.segments = {{0, array.data.data()}};
    column.inner = column.runs * column.stride;
    return Status();
  }
  for (int i = 0; i < type.dims_size(); ++i)
    (i < batchDim ? column.outer : column.inner) *=
        i == batchDim ? 1 : dims[size_t(i)];
  if (axis > 0 || data->furtherFiles().empty()) {
    column.segments = {{0, array.data.data()}};
  } else {
    ZC_RETURN_IF_ERROR(bindSegments(column, array));
  }
  int64_t samples = array.dims[axis];
  for (const auto &[path, arrays] : data->furtherFiles())
    samples += arrays.at(column.input->name()).dims[axis];
  bool samplesFirst = axis == 0 && options.sampleAxis == SampleAxis::First;
  column.sampleStride =
      samplesFirst ? column.outer * column.inner : column.inner;
  column.outerStride = samplesFirst ? column.inner : samples * column.inner;
  return countSamples(column, samples);
}

/// The samples of several files, one after another.
Status BatchFeed::bindSegments(Column &column, const NpyArray &array) {
  column.segments = {{0, array.data.data()}};
  int64_t samples = array.dims[0];
  for (const auto &[path, arrays] : data->furtherFiles()) {
    auto found = arrays.find(column.input->name());
    if (found == arrays.end())
      ZC_RETURN_IF_ERROR(data->whyUnread(column.input->name()));
    if (found == arrays.end())
      return makeError(StatusCode::InvalidArgument, "'", path,
                       "' lacks the input '", column.input->name(), "'");
    const NpyArray &more = found->second;
    std::vector<int64_t> dims = more.dims;
    if (!dims.empty())
      dims[0] = array.dims[0];
    if (dims != array.dims || more.kind != array.kind ||
        more.itemSize != array.itemSize)
      return makeError(StatusCode::InvalidArgument, "'", path, "': '",
                       column.input->name(), "' is ", more.print(),
                       "; in the files before it is ", array.print());
    column.segments.push_back({samples, more.data.data()});
    samples += more.dims[0];
  }
  return Status();
}

/// Labels are the tokens that follow each token.
static bool areNextTokens(const plan::Input &input) {
  return input.is_label() || input.name() == "labels" ||
         input.name() == "targets";
}

/// 16 bits do not hold the numbers of all words, so that tokens which are taken
/// for as many are most likely others.
Status BatchFeed::checkTokenWidth(const plan::Input &input) const {
  constexpr int64_t kWords = 1 << 16;
  const TokenShard &shard = data->tokens().front();
  if (!shard.isAssumed || !input.has_range() || input.range().max() <= kWords)
    return Status();
  return makeError(StatusCode::InvalidArgument, "'", shard.file->path(),
                   "' has no header that says how wide its tokens are, and 16 "
                   "bits, as nanoGPT writes them, do not hold the ",
                   input.range().max(), " values of '", input.name(),
                   "'; say which they are with --token-bits 32, or 16");
}

Status BatchFeed::bindTokens(Column &column) {
  const plan::Input &input = *column.input;
  const plan::TensorType &type = column.buffer->type();
  NpyArray like;
  like.kind = 'u';
  like.itemSize = data->tokens().front().width;
  column.convert = findConverter(like, type.dtype());
  if (input.batch_dim() != 0 || type.dims_size() < 2 || !column.convert ||
      !isInteger(type.dtype()))
    return makeError(StatusCode::InvalidArgument, "'", data->path(),
                     "' has tokens, which cannot feed the input '",
                     input.name(), "', ", printType(type),
                     "; expected integers [samples, tokens]; use an .npz for "
                     "other inputs");
  ZC_RETURN_IF_ERROR(checkTokenWidth(input));
  if (!areNextTokens(input)) {
    if (!tokensFeed.empty())
      return makeError(StatusCode::InvalidArgument, "'", data->path(),
                       "' has tokens for one input, but the model has '",
                       tokensFeed, "' and '", input.name(),
                       "'; use an .npz that has both");
    tokensFeed = input.name();
  }
  column.itemSize = like.itemSize;
  column.inner = column.sampleStride = column.runs * column.stride;
  column.outerStride = 0;
  // Every sample is followed by a token more, whether or not labels are asked
  // for: the samples of a file are the same for all programs.
  const int64_t next = areNextTokens(input) ? 1 : 0;
  int64_t samples = 0, longest = 0;
  for (const TokenShard &shard : data->tokens()) {
    column.segments.push_back(
        {samples, shard.tokens.data() + next * column.itemSize});
    samples += std::max<int64_t>(0, shard.count() - 1) / column.inner;
    longest = std::max<int64_t>(longest, shard.count());
  }
  if (samples == 0)
    whyNone =
        strCat(": one takes ", column.inner + 1, " tokens, ", column.inner,
               " and the label of the last, but there are ", longest);
  return countSamples(column, samples);
}

void BatchFeed::rebind(std::shared_ptr<const DataFile> other) {
  data = std::move(other);
  assert(data->tokens().empty() && data->furtherFiles().empty());
  for (Column &column : columns)
    if (!column.segments.empty())
      column.segments = {
          {0, data->arrays().at(column.input->name()).data.data()}};
}

Status BatchFeed::countSamples(const Column &column, int64_t samples) {
  if (samplesFrom.empty()) {
    samplesFrom = column.input->name();
    theSamples = samples;
  } else if (samples != theSamples) {
    return makeError(StatusCode::InvalidArgument, "'", data->path(), "': '",
                     column.input->name(), "' has ", samples, " samples, '",
                     samplesFrom, "' has ", theSamples);
  }
  return Status();
}

std::pair<int64_t, int64_t> BatchFeed::tokens() const {
  // Count integer inputs with samples, labels and others apart.
  int64_t found[2] = {0, 0};
  for (const Column &column : columns) {
    const plan::TensorType &type = column.buffer->type();
    if (column.input->batch_dim() != 0 || type.dims_size() != 2 ||
        !isInteger(type.dtype()))
      continue;
    bool areLabels =
        column.input->is_label() || column.input->name() == "labels";
    int64_t &count = found[areLabels];
    count = std::max(count, fedDims(*column.input, type)[1]);
  }
  return {found[0], found[1]};
}

std::optional<BatchFeed::Labels> BatchFeed::labels(size_t place) const {
  for (const Column &column : columns)
    if (column.input->is_label())
      return Labels{column.input, &column.buffer->type(),
                    column.places[place].data(), int64_t(own[place].size())};
  return std::nullopt;
}

void BatchFeed::setPlaces(size_t count) {
  own.resize(count);
  for (Column &column : columns)
    column.places.resize(count,
                         std::string(*byteCount(column.buffer->type()), '\0'));
}

std::vector<int64_t>
BatchFeed::shareOf(const std::vector<int64_t> &indices) const {
  const int64_t given = int64_t(indices.size());
  assert(given <= batch() && "at most a batch");
  return {indices.begin() + std::min(given, share * theBatch),
          indices.begin() + std::min(given, (share + 1) * theBatch)};
}

Status BatchFeed::read(size_t place, const std::vector<int64_t> &indices) {
  own[place] = shareOf(indices);
  for (Column &column : columns)
    ZC_RETURN_IF_ERROR(fill(column, place));
  return Status();
}

Status BatchFeed::write(Executor &executor, size_t place, const Slots &slots) {
  for (Column &column : columns)
    ZC_RETURN_IF_ERROR(executor.write(*program, column.input->buffer(),
                                      column.places[place].data(), slots));
  return Status();
}

Status BatchFeed::writeAhead(Executor &executor, size_t place) {
  for (size_t i = 0; i < columns.size(); ++i)
    ZC_RETURN_IF_ERROR(
        executor.writeAhead(int(i), columns[i].places[place].data()));
  return Status();
}

Status BatchFeed::fill(Column &column, size_t place) {
  std::string &staging = column.places[place];
  if (column.input->is_sample_weight())
    fillWeights(staging, own[place].size());
  else if (!column.segments.empty())
    return column.input->batch_dim() < 0
               ? fillWhole(column, staging)
               : fillSamples(column, own[place], staging);
  return Status();
}

void BatchFeed::fillWeights(std::string &staging, size_t count) const {
  for (int64_t i = 0; i < theBatch; ++i) {
    float weight = i < int64_t(count) ? 1.0f : 0.0f;
    std::memcpy(staging.data() + i * sizeof(float), &weight, sizeof(weight));
  }
}

Status BatchFeed::fillSamples(const Column &column,
                              const std::vector<int64_t> &indices,
                              std::string &staging) const {
  if (int64_t(indices.size()) < theBatch)
    std::fill(staging.begin(), staging.end(), '\0');
  std::mutex mutex;
  Status status;
  size_t failed = indices.size(); // the first sample of those that fail
  inParallelParts(int64_t(indices.size()), int64_t(staging.size()),
                  [&](int64_t begin, int64_t end) {
                    for (auto b = size_t(begin); b < size_t(end); ++b) {
                      Status own = fillSample(column, indices[b], b, staging);
                      if (own.ok())
                        continue;
                      std::lock_guard<std::mutex> lock(mutex);
                      if (b < failed) {
                        failed = b;
                        status = std::move(own);
                      }
                      return;
                    }
                  });
  return status;
}

/// Reads the data's sample `index` into the batch's sample `b`.
Status BatchFeed::fillSample(const Column &column, int64_t index, size_t b,
                             std::string &staging) const {
  const plan::DataType type = column.buffer->type().dtype();
  const int64_t bytes = elementBytes(type);
  const int64_t own = column.runs * column.length; // of a sample
  auto segment = std::upper_bound(
      column.segments.begin(), column.segments.end(), index,
      [](int64_t first, const Segment &each) { return first < each.first; });
  --segment;
  const int64_t sample = index - segment->first;
  for (int64_t o = 0; o < column.outer; ++o) {
    int64_t from = sample * column.sampleStride + o * column.outerStride;
    int64_t to = (o * theBatch + int64_t(b)) * own;
    int64_t done = convertRuns(column, segment->data + from * column.itemSize,
                               staging.data() + to * bytes);
    if (done < own)
      return makeError(StatusCode::InvalidArgument, "'", data->path(), "': '",
                       column.input->name(), "', sample ", index,
                       ": a value does not fit ", typeName(type));
    ZC_RETURN_IF_ERROR(
        checkRange(column, staging, to, own, strCat(", sample ", index)));
  }
  return Status();
}

Status BatchFeed::fillWhole(const Column &column, std::string &staging) const {
  const int64_t own = column.runs * column.length;
  if (convertRuns(column, column.segments.front().data, staging.data()) < own)
    return makeError(StatusCode::InvalidArgument, "'", data->path(), "': '",
                     column.input->name(), "': a value does not fit ",
                     typeName(column.buffer->type().dtype()));
  return checkRange(column, staging, 0, own, "");
}

Status BatchFeed::checkRange(const Column &column, const std::string &staging,
                             int64_t first, int64_t count,
                             const std::string &where) const {
  if (!column.input->has_range())
    return Status();
  const plan::ValueRange &range = column.input->range();
  for (int64_t i = first; i < first + count; ++i) {
    int64_t value = integerAt(staging.data(), column.buffer->type().dtype(), i);
    if ((value >= range.min() && value < range.max()) ||
        (range.has_ignored() && value == range.ignored()))
      continue;
    return makeError(
        StatusCode::InvalidArgument, "'", data->path(), "': '",
        column.input->name(), "'", where, ": the value ", value,
        " is out of range; expected ", range.min(), " to ", range.max() - 1,
        range.has_ignored() ? strCat(", or ", range.ignored(), " to ignore it")
                            : std::string());
  }
  return Status();
}

// Errors in samples -----------------------------------------------------------

/// The place of the first NaN among the elements, or `count`.
static int64_t findNan(const char *elements, plan::DataType type,
                       int64_t count) {
  auto find = [&](auto element, auto isNan) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&element, elements + i * sizeof(element), sizeof(element));
      if (isNan(element))
        return i;
    }
    return count;
  };
  switch (type) {
  case plan::F32:
    return find(float(), [](float value) { return std::isnan(value); });
  case plan::F64:
    return find(double(), [](double value) { return std::isnan(value); });
  case plan::BF16:
    return find(uint16_t(),
                [](uint16_t bits) { return (bits & 0x7fff) > 0x7f80; });
  case plan::F16:
    return find(uint16_t(),
                [](uint16_t bits) { return (bits & 0x7fff) > 0x7c00; });
  default:
    return count;
  }
}

/// Whether no label that is staged counts.
static bool areIgnored(const std::string &staged, const plan::Input &input,
                       const plan::TensorType &type) {
  int64_t count = *elementCount(type);
  for (int64_t i = 0; i < count; ++i)
    if (integerAt(staged.data(), type.dtype(), i) != input.range().ignored())
      return false;
  return true;
}

Result<std::string> BatchFeed::explainNan(const std::vector<int64_t> &indices) {
  const plan::Input *labels = nullptr;
  bool allIgnored = true;
  std::string staging;
  for (const Column &column : columns) {
    const plan::Input &input = *column.input;
    const plan::TensorType &type = column.buffer->type();
    if (column.segments.empty() || input.batch_dim() < 0)
      continue;
    if (input.has_range() && input.range().has_ignored())
      labels = &input;
    staging.resize(*byteCount(type));
    for (size_t at = 0; at < indices.size(); at += size_t(theBatch)) {
      // The last one fills what is missing to a batch: all that is looked at
      // are samples of the step.
      std::vector<int64_t> batch(size_t(theBatch), indices.back());
      std::copy_n(indices.begin() + at,
                  std::min(batch.size(), indices.size() - at), batch.begin());
      ZC_RETURN_IF_ERROR(fillSamples(column, batch, staging));
      const int64_t count = *elementCount(type);
      int64_t place = findNan(staging.data(), type.dtype(), count);
      if (place < count)
        return strCat(
            "'", input.name(), "' of '", data->path(),
            "' holds a NaN at sample ",
            batch[size_t(place / (column.runs * column.length) % theBatch)]);
      if (labels == &input && allIgnored)
        allIgnored = areIgnored(staging, input, type);
    }
  }
  if (!labels || !allIgnored)
    return std::string();
  return strCat("every label of its samples, '", labels->name(), "' of '",
                data->path(), "', is ", labels->range().ignored(),
                ", which is ignored");
}

} // namespace zc
