// Where a session's samples come from, and its evaluations.
#include "runtime/Api/ApiSession.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace zc {

// --- Samples
// -----------------------------------------------------------------

Status ApiSession::openData(std::shared_ptr<const DataFile> samples) {
  ZC_RETURN_IF_ERROR(checkTrains());
  const plan::Role &role = artifact().role();
  ready = nullptr;
  selected.clear();
  Result<OrderFeed> feed =
      orders().stepsAhead > 0
          ? OrderFeed::ofSteps(role, orders(), std::move(samples), *mesh,
                               world.rank())
          : OrderFeed::create(role, orders().train, orders().microBatches,
                              std::move(samples), FeedOptions(), *mesh,
                              world.rank());
  ZC_RETURN_IF_ERROR(feed.status());
  dataFeed.emplace(std::move(*feed));
  if (trains() && !dataArrive && !stepper->orders().overlap())
    dataFeed->readAhead(executor());
  for (const std::string &note : dataFeed->notes())
    tell(false, note);
  return Status();
}

/// Runs `open` on all ranks, and all fail if it fails on one. In a run the
/// caller sees to that itself.
Status ApiSession::setTogether(const std::function<Status()> &open) {
  if (run)
    return open();
  return together([&]() -> Status {
    ZC_RETURN_IF_ERROR(world.agree(open()));
    return agreeOnData();
  });
}

/// A sentence on the arrays that no input of the model has the name of, or
/// nothing.
static std::string describeUnused(const DataFile &data,
                                  const plan::Manifest &manifest) {
  std::set<std::string> inputs;
  for (const plan::Role &role : manifest.roles())
    for (const plan::Program &program : role.programs())
      for (const plan::Input &input : program.inputs())
        inputs.insert(input.name());
  std::string names;
  int count = 0;
  for (const auto &[name, array] : data.arrays())
    if (!inputs.count(name))
      names += strCat(count++ ? ", '" : "'", name, "'");
  if (count == 0)
    return "";
  return strCat("'", data.path(), "': ", names, count > 1 ? " are" : " is",
                " no input of the model, and not used");
}

Status ApiSession::setData(const std::string &path, int tokenBits) {
  if (path.empty()) {
    dataFeed.reset();
    ready = nullptr;
    selected.clear();
    return Status();
  }
  dataArrive = false;
  return setTogether([&]() -> Status {
    ZC_ASSIGN_OR_RETURN(DataFile file, DataFile::open(path, tokenBits));
    tell(true, file.doubt());
    if (std::string unused = describeUnused(file, artifact().manifest());
        !unused.empty())
      tell(false, unused);
    return openData(std::make_shared<const DataFile>(std::move(file)));
  });
}

Status ApiSession::setSamples(std::shared_ptr<const DataFile> samples) {
  dataArrive = true;
  return openData(std::move(samples));
}

void ApiSession::replaceSamples(
    const std::shared_ptr<const DataFile> &samples) {
  ready = nullptr;
  dataFeed->rebind(samples);
}

Status ApiSession::setEvalData(const std::string &path, int tokenBits,
                               const std::vector<std::string> &metrics) {
  const std::vector<std::string> &known = metricNames();
  for (const std::string &metric : metrics)
    if (std::find(known.begin(), known.end(), metric) == known.end())
      return makeError(StatusCode::InvalidArgument, "there is no metric '",
                       metric, "'");
  return setTogether([&]() -> Status {
    ZC_ASSIGN_OR_RETURN(
        heldOut,
        HeldOut::open(artifact(), run ? run->evalOption : "zc_set_eval_data",
                      path, metrics, *mesh, world.rank(), tokenBits));
    if (run)
      heldOut->pruneOutputs();
    for (const std::string &note : heldOut->notes())
      tell(false, note);
    return Status();
  });
}

Status ApiSession::agreeOnData() {
  if (dataFeed)
    ZC_RETURN_IF_ERROR(dataFeed->agree(world));
  return heldOut ? heldOut->agree(world) : Status();
}

int64_t ApiSession::samples() const {
  if (dataFeed)
    return dataFeed->samples();
  auto counted = theInputs->countSamples(orders().train);
  return counted.ok() ? *counted : 0;
}

Status ApiSession::select(const int64_t *samples, size_t count) {
  const int64_t batch = stepBatch();
  const int64_t all = this->samples();
  if (count % size_t(batch) != 0)
    return makeError(StatusCode::InvalidArgument, count,
                     " samples were selected; a step takes ", batch);
  for (size_t i = 0; i < count; ++i)
    if (samples[i] < 0 || samples[i] >= all)
      return makeError(StatusCode::InvalidArgument, "there is no sample ",
                       samples[i], "; there are ", all, ", from 0");
  selected.assign(samples, samples + count);
  selectedAt = state.step;
  ready = nullptr;
  return Status();
}

/// The samples of a step, which is counted from 0. Empty: nobody has selected
/// any.
std::vector<int64_t> ApiSession::samplesOf(int64_t step) const {
  const auto batch = size_t(stepBatch());
  const size_t at = size_t(step - selectedAt) * batch;
  if (step >= selectedAt && at + batch <= selected.size())
    return {selected.begin() + int64_t(at),
            selected.begin() + int64_t(at + batch)};
  std::vector<int64_t> samples;
  if (!selected.empty() || !dataFeed)
    return samples;
  samples.resize(batch);
  for (size_t i = 0; i < batch; ++i)
    samples[i] = (step * int64_t(batch) + int64_t(i)) % dataFeed->samples();
  return samples;
}

/// Lists the samples of the next step, and of those later steps that overlap
/// it.
Result<OrderFeed *> ApiSession::bindData() {
  if (samplesOf(state.step).empty())
    selected.clear(); // all of it is used up
  indices.clear();
  for (int64_t ahead = 0; ahead <= orders().stepsAhead; ++ahead)
    for (int64_t sample : samplesOf(state.step + ahead))
      indices.push_back(sample);
  return &*dataFeed;
}

Result<OrderFeed *> ApiSession::bindInputs() {
  const plan::Order &order = orders().ofStep(state.step + 1);
  ZC_ASSIGN_OR_RETURN(OrderFeed * feed,
                      theInputs->bind(order, orders().microBatches,
                                      /*labelsMayMiss=*/false));
  ZC_ASSIGN_OR_RETURN(const int64_t given, theInputs->countSamples(order));
  indices = samplesOf(state.step);
  if (!indices.empty()) {
    for (int64_t sample : indices)
      if (sample >= given)
        return makeError(StatusCode::InvalidArgument, "sample ", sample,
                         " was selected; the inputs have ", given);
    return feed;
  }
  selected.clear();
  if (given != samplesGiven) {
    ZC_ASSIGN_OR_RETURN(ofInputs,
                        theInputs->samplesOfStep(given, orders().microBatches));
  }
  samplesGiven = given;
  indices = ofInputs;
  return feed;
}

Status ApiSession::readSamples() {
  ZC_RETURN_IF_ERROR(enter());
  ZC_RETURN_IF_ERROR(checkTrains());
  const auto began = ApiRun::Clock::now();
  ready = nullptr;
  ZC_ASSIGN_OR_RETURN(OrderFeed * feed, dataFeed ? bindData() : bindInputs());
  Status read = feed->read(indices, stepper->orders().isFirst(state.step));
  told("read samples", began);
  if (read.ok())
    ready = feed;
  return read;
}

// --- Evaluation --------------------------------------------------------------

/// The facts of an evaluation that ranks agree on before they begin.
struct ApiSession::EvaluationNeeds {
  int64_t samples = 1;
  bool hasLabels = true; // of all roles
};

/// Each rank is given all samples, as far as its role reads any.
Status ApiSession::agreeOnSamples(const Result<OrderFeed *> &feed,
                                  EvaluationNeeds &needs) {
  const plan::Order &order = session->orders().eval;
  Status sound = feed.status();
  int64_t given = 0;
  if (sound.ok()) {
    Result<int64_t> counted = theInputs->countSamples(order);
    sound = counted.status();
    given = counted.ok() ? *counted : 0;
  }
  std::vector<int64_t> most = {given, !theInputs->hasLabels(order)};
  ZC_RETURN_IF_ERROR(world.agree(sound, &most));
  needs.samples = std::max<int64_t>(1, most[0]);
  needs.hasLabels = most[1] == 0;
  if (given > 0 && given != most[0])
    sound = makeError(StatusCode::InvalidArgument, "the inputs have ", given,
                      " samples, those of another rank ", most[0],
                      "; an evaluation gives all samples to every rank");
  return world.agree(sound);
}

Status ApiSession::runBatches(OrderFeed &feed, int64_t samples,
                              EvaluationSums &sums) {
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed.write(executor(), each);
  };
  callbacks.called = [&](const plan::Call &call) -> Status {
    ZC_RETURN_IF_ERROR(
        sums.add(executor(), executor().role().programs(int(call.program()))));
    return theOutputs->take(executor(), call);
  };
  const int64_t batch = theInputs->evaluatedBatch();
  std::vector<int64_t> taken;
  for (int64_t at = 0; at < samples; at += batch) {
    taken.resize(size_t(std::min(batch, samples - at)));
    std::iota(taken.begin(), taken.end(), at);
    std::vector<int64_t> wished = {hear(ZC_PHASE_EVALUATION, at, samples)};
    ZC_RETURN_IF_ERROR(world.agree(feed.read(taken), &wished));
    theWish = int32_t(wished[0]);
    if (theWish)
      return Status();
    ZC_RETURN_IF_ERROR(evaluator->run(session->orders().eval, callbacks));
    ZC_RETURN_IF_ERROR(
        theOutputs->append(world, at, theInputs->evaluatedMicroBatch()));
  }
  const int holder = findLossHolder(session->artifact());
  if (session->artifact().manifest().roles_size() == 1 || holder < 0)
    return Status();
  return world.all().broadcast(&sums, sizeof(sums),
                               executor().mesh().firstOf(holder));
}

Status ApiSession::computeEvaluation() {
  const Artifact &artifact = session->artifact();
  const Orders &orders = session->orders();
  Result<OrderFeed *> feed = theInputs->bind(orders.eval, orders.evaluated,
                                             /*labelsMayMiss=*/true);
  EvaluationNeeds needs;
  ZC_RETURN_IF_ERROR(agreeOnSamples(feed, needs));
  theOutputs->begin(needs.samples);
  EvaluationSums sums;
  ofEvaluation.clear();
  ZC_RETURN_IF_ERROR(runBatches(**feed, needs.samples, sums));
  if (theWish)
    return Status();
  // A loss that a model computes itself knows nothing of padding.
  const bool isWhole = takesSampleWeights(artifact) ||
                       needs.samples % theInputs->evaluatedBatch() == 0;
  if (findLossHolder(artifact) < 0 || !needs.hasLabels || !isWhole)
    return Status();
  ofEvaluation.emplace_back("eval_loss", sums.meanLoss());
  if (auto accuracy = sums.accuracy())
    ofEvaluation.emplace_back("eval_accuracy", *accuracy);
  return Status();
}

Status ApiSession::evaluate() {
  theWish = 0;
  ZC_RETURN_IF_ERROR(enter());
  // Later replicas of a stage evaluate nothing.
  if (session->artifact().manifest().roles(0).eval().actions_size() == 0)
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' has no evaluation program");
  ready = nullptr; // a caller's inputs may be those of a step, too
  ZC_RETURN_IF_ERROR(together([&] { return computeEvaluation(); }));
  listMetrics();
  return Status();
}

Status ApiSession::computeEvalData() {
  const int64_t samples = heldOut->samples();
  auto wish = [&](int64_t done) -> int64_t {
    return hear(ZC_PHASE_EVALUATION, done, samples);
  };
  ofEvaluation.clear();
  int64_t stopped = 0;
  ZC_ASSIGN_OR_RETURN(auto record,
                      heldOut->evaluate(executor(), state.step, wish, stopped));
  theWish = int32_t(stopped);
  if (!record)
    return Status();
  ofEvaluation.emplace_back("eval_loss", record->loss);
  if (record->accuracy)
    ofEvaluation.emplace_back("eval_accuracy", *record->accuracy);
  for (const auto &[name, value] : record->metrics)
    ofEvaluation.emplace_back("eval_" + name, value);
  return Status();
}

Status ApiSession::evaluateData() {
  theWish = 0;
  ZC_RETURN_IF_ERROR(enter());
  if (!heldOut)
    return makeError(StatusCode::InvalidArgument,
                     "there are no held-out samples; zc_set_eval_data() comes "
                     "first");
  ZC_RETURN_IF_ERROR(together([&] { return computeEvalData(); }));
  listMetrics();
  return Status();
}

} // namespace zc
