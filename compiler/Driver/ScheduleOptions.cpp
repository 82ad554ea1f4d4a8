#include "compiler/Driver/ScheduleOptions.h"

#include "runtime/Base/File.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/ScheduleFile.h"
#include "runtime/Plan/Order/Versions.h"

#include <algorithm>

using namespace zc;

/// A schedule as --schedule has it, and as makeSchedule() does.
struct ScheduleName {
  const char *option, *name;
};

static constexpr ScheduleName kSchedules[] = {
    {"1f1b", "1f1b"},
    {"gpipe", "gpipe"},
    {"naive", "naive"},
    {"interleaved", "interleaved"},
    {"zero-bubble", "zb-h1"},
    {"zero-bubble=h1", "zb-h1"},
    {"zero-bubble=h2", "zb-h2"},
    {"zero-bubble=v", "zb-v"},
    {"2bw", "2bw"},
    {"stash", "stash"},
};

static const ScheduleName *findSchedule(const std::string &text) {
  const auto *found = std::find_if(
      std::begin(kSchedules), std::end(kSchedules),
      [&](const ScheduleName &each) { return text == each.option; });
  return found == std::end(kSchedules) ? nullptr : found;
}

static std::string checkSchedule(const std::string &text) {
  if (text == "flush" || findSchedule(text) || CLI::ExistingFile(text).empty())
    return "";
  std::string known;
  for (const ScheduleName &each : kSchedules)
    known += std::string(each.option) + ", ";
  return "'" + text + "' is neither a schedule (" + known +
         "flush) nor a file with one";
}

static std::optional<std::vector<uint32_t>>
parseReplicas(llvm::StringRef text) {
  std::vector<uint32_t> replicas;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  constexpr uint32_t kMost = 1 << 20;
  for (llvm::StringRef part : parts)
    if (part.getAsInteger(10, replicas.emplace_back()) || replicas.back() < 1 ||
        replicas.back() > kMost)
      return std::nullopt;
  return replicas;
}

static std::string checkReplicas(const std::string &text) {
  return text == "auto" || text == "off" || parseReplicas(text)
             ? ""
             : "expected auto, off, or for each stage how many ranks of pp it "
               "has, "
               "as in 2,1,1; found '" +
                   text + "'";
}

std::vector<uint32_t> zc::listStageReplicas(const CompileOptions &options) {
  if (options.stageReplicas == "off" || options.stageReplicas == "auto")
    return {};
  return parseReplicas(options.stageReplicas).value_or(std::vector<uint32_t>());
}

void zc::addScheduleOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option(
          "--schedule", options.schedule,
          "with pp, in what order a role runs forwards and backwards: naive "
          "(one micro-batch after another), gpipe (all forwards first), 1f1b "
          "(alternating; alias flush), interleaved (alternating, with --chunks "
          "stages a role), zero-bubble (the parameters' gradients fill the "
          "gaps: in the best order by what the stages cost, within the memory "
          "budget; =h1 with the memory of 1f1b, =h2 with up to twice that, =v "
          "with two stages a role); without flush, so that gradients are of "
          "older parameters: 2bw (one step older, two versions), stash (older "
          "by what is under way behind the stage), which with pp=1 train as a "
          "pipeline does; or a FILE: a schedule as PyTorch writes "
          "it, a line of comma-separated actions a rank, as in 0F1,1B0,1W0")
      ->check(checkSchedule)
      ->type_name("NAME|FILE");
  command
      .add_option("--chunks", options.chunks,
                  "with --schedule interleaved, the stages of each role "
                  "(default 2)")
      ->check(CLI::Range(1, 64))
      ->default_str("");
  command
      .add_option("--stage-replicas", options.stageReplicas,
                  "with pp, the number of ranks that hold each stage, as in "
                  "2,1,1; these replicas take the stage's micro-batches in "
                  "turn, number k goes to replica k mod their count, forward "
                  "and backward; auto: as many stages and replicas as make a "
                  "step shortest by cost; off: one each")
      ->check(checkReplicas)
      ->type_name("auto|off|R,...");
  command.add_flag("--vertical-sync", options.verticalSync,
                   "with --schedule stash, all stages compute gradients of "
                   "parameters as old as the first stage's");
}

void zc::completeScheduleOptions(CompileOptions &options) {
  if (options.schedule == "flush")
    options.schedule = "1f1b";
}

static Result<PipelineSchedule> readSchedule(const CompileOptions &options) {
  constexpr size_t kMostBytes = 64 << 20;
  ZC_ASSIGN_OR_RETURN(const std::string text,
                      readFile(options.schedule, kMostBytes));
  Result<PipelineSchedule> schedule = parseSchedule(text);
  if (!schedule.ok())
    return schedule.status().withContext(options.schedule);
  const int64_t roles = options.getAxisSize(axes::kRole);
  if (int64_t(schedule->roles.size()) != roles)
    return makeError(StatusCode::InvalidArgument, options.schedule, ": it is ",
                     "of ", schedule->roles.size(), " ranks, but --mesh has ",
                     "pp=", roles);
  if (int64_t(schedule->microBatches) != options.accumulate)
    return makeError(StatusCode::InvalidArgument, options.schedule, ": it is ",
                     "of ", schedule->microBatches, " micro-batches, but ",
                     "--accumulate is ", options.accumulate);
  return schedule;
}

Result<PipelineSchedule> zc::chooseSchedule(const CompileOptions &options) {
  const ScheduleName *known = findSchedule(options.schedule);
  if (!known)
    return readSchedule(options);
  ScheduleRequest request;
  request.name = known->name;
  request.roles = uint32_t(options.getAxisSize(axes::kRole));
  request.microBatches = uint32_t(std::max<int64_t>(1, options.accumulate));
  constexpr int64_t kDefaultChunks = 2;
  request.replicas = listStageReplicas(options);
  request.chunks =
      uint32_t(options.chunks > 0 ? options.chunks : kDefaultChunks);
  return makeSchedule(request);
}

InFlight zc::countInFlight(const CompileOptions &options,
                           const PipelineSchedule &chosen) {
  PipelineSchedule schedule = chosen;
  // Steps follow one another, so that all roles are busy with enough of them.
  const auto roles = uint32_t(chosen.roles.size());
  if (isWithoutFlush(options.schedule) && chosen.microBatches < roles) {
    Result<PipelineSchedule> full =
        makeSchedule({options.schedule, roles, roles});
    if (full.ok())
      schedule = std::move(*full);
  }
  Result<Timeline> timeline = simulateSchedule(
      schedule, WorkCosts::equal(schedule.roleOfStage.size(), 1, 1, 1));
  if (!timeline.ok())
    return {};
  return {{timeline->inFlight.begin(), timeline->inFlight.end()},
          {timeline->inFlightOfStage.begin(), timeline->inFlightOfStage.end()}};
}
