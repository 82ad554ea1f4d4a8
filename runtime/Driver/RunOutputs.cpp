#include "runtime/Driver/RunOutputs.h"
#include "runtime/Base/Log.h"

namespace zc {

Status RunOutputs::open(const std::string &logPath,
                        const std::string &tensorboard,
                        std::optional<int64_t> resumedAfter) {
  if (!logPath.empty()) {
    ofLog.option = "--log '" + logPath + "'";
    ZC_ASSIGN_OR_RETURN(RunLog opened, RunLog::open(logPath, resumedAfter));
    log.emplace(std::move(opened));
  }
  if (!tensorboard.empty()) {
    ofEvents.option = "--tensorboard '" + tensorboard + "'";
    ZC_ASSIGN_OR_RETURN(EventLog opened, EventLog::open(tensorboard));
    events.emplace(std::move(opened));
  }
  return Status();
}

void RunOutputs::writeHyperparameters(const NamedTexts &parameters) {
  if (events)
    note(events->writeHyperparameters(parameters), ofEvents);
}

/// Later records are tried as well: the disk may have room again.
void RunOutputs::note(const Status &written, Loss &loss) {
  if (written.ok())
    return;
  if (loss.records++ == 0)
    logWarning(loss.option + ": " + written.message() +
               "; the run goes on without what cannot be written there");
}

void RunOutputs::finish() const {
  for (const Loss *loss : {&ofLog, &ofEvents})
    if (loss->records > 0)
      logWarning(strCat(loss->option, " lacks ", loss->records, " record",
                        loss->records == 1 ? "" : "s",
                        " that could not be written"));
}

} // namespace zc
