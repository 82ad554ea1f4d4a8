#include "runtime/Api/SessionInputs.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <numeric>

namespace zc {

static constexpr const char *kInputs = "the inputs";

SessionInputs::SessionInputs(const Artifact &artifact, const Mesh &mesh,
                             int rank)
    : role(artifact.role()), mesh(mesh), rank(rank) {
  for (int each = 0; each < artifact.manifest().roles_size(); ++each) {
    const Orders orders = ordersOf(artifact.forRole(each));
    const plan::Role &of = artifact.manifest().roles(each);
    add(of, orders.train, orders.microBatches);
    add(of, orders.eval, orders.evaluated);
    for (const plan::Program *program : programsOf(of, orders.eval))
      for (const plan::Input &input : program->inputs())
        if (input.batch_dim() >= 0) {
          evaluated =
              program->buffers(input.buffer()).type().dims(input.batch_dim()) *
              mesh.groupSize(input.batch_axes());
          evaluatedParts = orders.evaluated;
        }
  }
}

std::vector<const plan::Input *>
SessionInputs::inputsOf(const plan::Order &order) const {
  std::vector<const plan::Input *> found;
  for (const plan::Program *program : programsOf(role, order))
    for (const plan::Input &input : program->inputs())
      if (!input.is_sample_weight())
        found.push_back(&input);
  return found;
}

/// Of a whole micro-batch, whatever ranks have of it.
static std::vector<int64_t> wholeDims(const plan::Input &input,
                                      const plan::TensorType &type,
                                      const Mesh &mesh) {
  std::vector<int64_t> dims(type.dims().begin(), type.dims().end());
  for (int i = 0; i < input.sharding().dims_size(); ++i)
    if (i < input.whole_dims_size() && input.sharding().dims(i).axes_size() > 0)
      dims[size_t(i)] = input.whole_dims(i);
  if (input.batch_dim() >= 0)
    dims[size_t(input.batch_dim())] =
        type.dims(input.batch_dim()) * mesh.groupSize(input.batch_axes());
  return dims;
}

/// The programs of an order see a micro-batch of what the caller gives.
void SessionInputs::add(const plan::Role &of, const plan::Order &order,
                        uint32_t microBatches) {
  for (const plan::Program *program : programsOf(of, order))
    for (const plan::Input &input : program->inputs()) {
      if (input.is_sample_weight() || find(input.name()))
        continue;
      const plan::TensorType &type = program->buffers(input.buffer()).type();
      NamedTensor tensor;
      tensor.name = input.name();
      tensor.type = type.dtype();
      tensor.dims = wholeDims(input, type, mesh);
      tensor.batchDim = input.batch_dim();
      tensor.isLabel = input.is_label();
      if (tensor.batchDim >= 0) {
        int64_t &count = tensor.dims[size_t(tensor.batchDim)];
        count *= microBatches;
        // An evaluation may take fewer samples at once than a step.
        count = theBatch = theBatch > 0 ? theBatch : count;
        shares = mesh.groupSize(input.batch_axes());
        share = mesh.placeInGroup(rank, input.batch_axes());
      }
      inputs.push_back(std::move(tensor));
    }
}

const NamedTensor *SessionInputs::find(const std::string &name) const {
  auto found =
      std::find_if(inputs.begin(), inputs.end(),
                   [&](const NamedTensor &each) { return each.name == name; });
  return found == inputs.end() ? nullptr : &*found;
}

static Status refuseName(const std::string &name,
                         const std::vector<NamedTensor> &inputs) {
  std::string list;
  for (const NamedTensor &each : inputs)
    list += (list.empty() ? "'" : ", '") + each.name + "'";
  return makeError(StatusCode::NotFound, "the model has no input '", name,
                   "'; it has ", list.empty() ? "none" : list);
}

/// "float32 [N, 784], N samples, 64 in a step".
static std::string printExpected(const NamedTensor &input) {
  std::string text = strCat(isInteger(input.type) ? "any integers, as " : "",
                            typeName(input.type), " [");
  for (size_t i = 0; i < input.dims.size(); ++i)
    text += strCat(i ? ", " : "", int(i) == input.batchDim
                                      ? std::string("N")
                                      : std::to_string(input.dims[i]));
  text += "]";
  if (input.batchDim >= 0)
    text += strCat(", N samples, ", input.dims[size_t(input.batchDim)],
                   " in a step");
  return text;
}

/// Bytes of the elements; fails where they are more than memory holds.
static Result<uint64_t> bytesOf(const GivenTensor &tensor) {
  uint64_t bytes = elementBytes(tensor.type);
  for (int64_t dim : tensor.dims)
    if (dim < 0 || __builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return makeError(StatusCode::InvalidArgument, printDims(tensor.dims),
                       " is no shape of a tensor in memory");
  return bytes;
}

Result<std::shared_ptr<std::string>> copyElements(const GivenTensor &tensor) {
  ZC_ASSIGN_OR_RETURN(const uint64_t bytes, bytesOf(tensor));
  return std::make_shared<std::string>(tensor.data, bytes);
}

Status SessionInputs::check(const std::string &name,
                            const GivenTensor &tensor) const {
  const NamedTensor *input = find(name);
  if (!input)
    return refuseName(name, inputs);
  const NpyArray array = describeElements(tensor.type);
  const bool converts =
      array.itemSize > 0 &&
      (findConverter(array, input->type) ||
       findMeantConverter(array, input->type, input->isLabel));
  std::vector<int64_t> wanted = input->dims;
  const auto batchDim = size_t(input->batchDim);
  if (input->batchDim >= 0 && batchDim < tensor.dims.size() &&
      tensor.dims[batchDim] > 0)
    wanted[batchDim] = tensor.dims[batchDim];
  if (!converts || tensor.dims != wanted)
    return makeError(StatusCode::InvalidArgument, "'", name, "' is ",
                     typeName(tensor.type), " ", printDims(tensor.dims),
                     "; expected ", printExpected(*input));
  ZC_ASSIGN_OR_RETURN(const uint64_t bytes, bytesOf(tensor));
  if (!tensor.data && bytes > 0)
    return makeError(StatusCode::InvalidArgument, "'", name,
                     "': there is no data");
  return Status();
}

Status SessionInputs::set(const std::string &name, GivenTensor tensor) {
  ZC_RETURN_IF_ERROR(check(name, tensor));
  ZC_ASSIGN_OR_RETURN(const uint64_t bytes, bytesOf(tensor));
  NpyArray array = describeElements(tensor.type);
  NpyArray &place = given[name];
  isChanged |= place.dims != tensor.dims || place.kind != array.kind ||
               place.itemSize != array.itemSize ||
               place.data.data() != tensor.data;
  array.dims = std::move(tensor.dims);
  array.data = {tensor.data, bytes};
  array.owner = std::move(tensor.owner);
  place = std::move(array);
  return Status();
}

Status SessionInputs::clear(const std::string &name) {
  if (!find(name))
    return refuseName(name, inputs);
  isChanged |= given.erase(name) > 0;
  return Status();
}

std::string SessionInputs::signatureOf() const {
  std::string text;
  for (const auto &[name, array] : given)
    text += name + " " + array.print() + "\n";
  return text;
}

Result<int64_t> SessionInputs::countSamples(const plan::Order &order) const {
  int64_t samples = 0;
  std::string from;
  for (const plan::Input *input : inputsOf(order)) {
    auto found = given.find(input->name());
    if (found == given.end() || input->batch_dim() < 0)
      continue;
    const int64_t own = found->second.dims[size_t(input->batch_dim())];
    if (!from.empty() && own != samples)
      return makeError(StatusCode::InvalidArgument, "'", input->name(),
                       "' has ", own, " samples, '", from, "' has ", samples);
    samples = own;
    from = input->name();
  }
  return samples;
}

bool SessionInputs::hasLabels(const plan::Order &order) const {
  const auto all = inputsOf(order);
  return std::all_of(all.begin(), all.end(), [&](const plan::Input *input) {
    return !input->is_label() || given.count(input->name()) > 0;
  });
}

/// The arrays without their owners, which would outlive what replaces them.
std::shared_ptr<DataFile> SessionInputs::borrow() const {
  std::map<std::string, NpyArray> arrays = given;
  for (auto &[name, array] : arrays)
    array.owner.reset();
  return std::make_shared<DataFile>(
      DataFile::ofArrays(kInputs, std::move(arrays)));
}

Result<std::vector<int64_t>>
SessionInputs::samplesOfStep(int64_t given, uint32_t microBatches) const {
  const int64_t batch = std::max<int64_t>(1, theBatch);
  std::vector<int64_t> samples(size_t(batch), 0);
  if (given == 0 || given == batch) {
    std::iota(samples.begin(), samples.end(), 0);
    return samples;
  }
  if (given != ownBatch())
    return makeError(StatusCode::InvalidArgument, "the inputs have ", given,
                     " samples; a step takes ", batch,
                     shares > 1
                         ? strCat(", of which this rank may be given its own ",
                                  ownBatch(), " alone")
                         : std::string());
  // Each micro-batch is shared by the ranks.
  const int64_t part = batch / int64_t(microBatches), own = part / shares;
  for (int64_t i = 0; i < batch; ++i)
    if (i % part / own == share)
      samples[size_t(i)] = i / part * own + i % own;
  return samples;
}

Result<OrderFeed *> SessionInputs::bind(const plan::Order &order,
                                        uint32_t microBatches,
                                        bool labelsMayMiss) {
  if (isChanged) {
    signature = signatureOf();
    for (auto &[of, each] : bound)
      if (each.feed && each.signature == signature)
        each.feed->rebind(borrow());
    isChanged = false;
  }
  Bound &mine = bound[&order];
  if (mine.feed && mine.signature == signature)
    return &*mine.feed;
  for (const plan::Input *input : inputsOf(order))
    if (!given.count(input->name()) && !(input->is_label() && labelsMayMiss))
      return makeError(StatusCode::InvalidArgument, "the input '",
                       input->name(), "' was not set");
  FeedOptions options{SampleAxis::Program, labelsMayMiss};
  ZC_ASSIGN_OR_RETURN(mine.feed,
                      OrderFeed::create(role, order, microBatches, borrow(),
                                        options, mesh, rank));
  mine.signature = signature;
  return &*mine.feed;
}

} // namespace zc
