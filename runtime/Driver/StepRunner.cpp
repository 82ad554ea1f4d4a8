#include "runtime/Driver/StepRunner.h"
#include "runtime/Plan/ProgramNames.h"

namespace zc {

StepRunner::StepRunner(Session &session)
    : session(session), runner(session.executor()),
      steps(session.artifact().role(), session.orders()),
      learningRate(session.findScalar("lr")),
      stepCount(session.findScalar("optimizer.step")),
      microBatchCount(session.findScalar("micro_batch")) {}

Status StepRunner::writeRate(float rate) {
  return learningRate ? session.executor().writeState(*learningRate, 0, &rate,
                                                      sizeof(rate))
                      : Status();
}

Status StepRunner::run(int64_t step, OrderCallbacks callbacks) {
  if (!steps.overlap())
    return runner.run(session.orders().ofStep(step + 1), callbacks);
  // Micro-batches of later steps are in front of this one's end.
  callbacks.beforeCall = [&](const plan::Call &call) {
    return writePlace(step, call.micro_batch());
  };
  ZC_ASSIGN_OR_RETURN(const plan::Order *order, steps.of(step));
  return steps.isLast(step) ? runner.run(*order, callbacks)
                            : runner.runOn(*order, callbacks);
}

/// Writes, for a call on this micro-batch, counted from the step's first on:
/// the step whose versions it reads, and the number by which dropout tells
/// draws apart.
Status StepRunner::writePlace(int64_t step, uint32_t microBatch) {
  Executor &executor = session.executor();
  const uint32_t microBatches = session.orders().microBatches;
  const int64_t ofStep = step + microBatch / microBatches;
  const int64_t number = microBatch % microBatches;
  executor.setStepsDone(ofStep);
  for (auto [scalar, value] :
       {std::pair(stepCount, ofStep), std::pair(microBatchCount, number)})
    if (scalar)
      ZC_RETURN_IF_ERROR(
          executor.writeState(*scalar, 0, &value, sizeof(value)));
  return Status();
}

Result<StepMetrics> StepRunner::readMetrics(int64_t step) {
  const plan::Program *last = lastProgramOf(session.artifact().role(),
                                            session.orders().ofStep(step + 1));
  assert(last && "a step calls a program");
  // The program that ends the step reports it.
  return readStepMetrics(session.executor(), *last);
}

std::vector<std::string> trainingPrograms(const Session &session) {
  std::vector<std::string> programs = {programs::kInit, programs::kCopy};
  for (const plan::Order *order :
       {&session.orders().train, &session.orders().late})
    for (const std::string &name :
         programNamesOf(session.artifact().role(), *order))
      programs.push_back(name);
  return programs;
}

std::vector<std::string> evaluationPrograms(const Session &session) {
  return programNamesOf(session.artifact().role(), session.orders().eval);
}

} // namespace zc
