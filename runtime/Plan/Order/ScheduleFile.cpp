#include "runtime/Plan/Order/ScheduleFile.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <tuple>

namespace zc {
namespace {

// More than any pipeline has.
constexpr unsigned long kMost = 1u << 20;

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::InvalidArgument, parts...);
}

/// One action, as it stands in the file.
struct Cell {
  char kind; // F, B, I or W
  uint32_t stage, microBatch;
};

std::vector<std::string> split(const std::string &text, char by) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(by, begin)) != std::string::npos;
       begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

std::string trim(const std::string &text) {
  const char *blanks = " \t\r\"";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Reads one action into `cells`; those that move something are left out.
Status addAction(const std::string &text, std::vector<Cell> &cells) {
  static const std::regex pattern(R"(^(\d{1,7})([A-Z_]+)(\d{0,7})$)");
  constexpr size_t kLongest = 64; // std::regex calls itself for each character
  std::smatch match;
  if (text.size() > kLongest || !std::regex_match(text, match, pattern))
    return bad("'", text.substr(0, kLongest),
               text.size() > kLongest ? "..." : "",
               "' is no action; expected a stage, F, B, I or W, and "
               "a micro-batch, as in 0F1");
  const std::string kind = match[2];
  if (kind.size() > 1)
    return Status();
  const std::string number = match[3];
  if (kind.find_first_not_of("FBIW") != std::string::npos || number.empty())
    return bad("'", text, "' is no action; expected F, B, I or W");
  const unsigned long stage = std::stoul(match[1]),
                      microBatch = std::stoul(number);
  if (stage >= kMost || microBatch >= kMost)
    return bad("'", text, "' is of stage ", stage, " and micro-batch ",
               microBatch, "; expected fewer than ", kMost);
  cells.push_back({kind[0], uint32_t(stage), uint32_t(microBatch)});
  return Status();
}

Result<std::vector<Cell>> parseLine(const std::string &line) {
  std::vector<Cell> cells;
  for (const std::string &field : split(line, ',')) {
    std::string text = trim(field);
    if (text.empty())
      continue;
    if (text.front() == '(') {
      const size_t end = text.find(')');
      if (end == std::string::npos)
        return bad("'", text, "' has no closing bracket");
      for (const std::string &part : split(text.substr(1, end - 1), ';'))
        ZC_RETURN_IF_ERROR(addAction(trim(part), cells));
      continue;
    }
    ZC_RETURN_IF_ERROR(addAction(text, cells));
  }
  return cells;
}

/// Makes a schedule of the cells of all ranks.
class FileSchedule {
public:
  explicit FileSchedule(std::vector<std::vector<Cell>> rows)
      : rows(std::move(rows)) {}

  Result<PipelineSchedule> run() {
    ZC_RETURN_IF_ERROR(findStages());
    for (uint32_t role = 0; role < rows.size(); ++role)
      addWorks(role);
    ZC_RETURN_IF_ERROR(checkComplete());
    return schedule;
  }

private:
  Status findStages();
  void addWorks(uint32_t role);
  Status checkComplete() const;

  std::vector<std::vector<Cell>> rows;
  std::set<std::pair<uint32_t, uint32_t>> split; // stage, micro-batch with a W
  PipelineSchedule schedule;
};

Status FileSchedule::findStages() {
  std::map<uint32_t, uint32_t> roles; // by stage
  for (uint32_t role = 0; role < rows.size(); ++role)
    for (const Cell &cell : rows[role]) {
      const uint32_t first = roles.emplace(cell.stage, role).first->second;
      if (first != role)
        return bad("stage ", cell.stage, " is on ranks ", first, " and ", role,
                   "; expected one");
      schedule.microBatches =
          std::max(schedule.microBatches, cell.microBatch + 1);
      if (cell.kind == 'W')
        split.insert({cell.stage, cell.microBatch});
    }
  for (auto [stage, role] : roles) {
    if (stage != schedule.roleOfStage.size())
      return bad("stage ", schedule.roleOfStage.size(), " has no action, but ",
                 "stage ", stage, " has");
    schedule.roleOfStage.push_back(role);
  }
  schedule.splitsWeights = !split.empty();
  schedule.roles.resize(rows.size());
  return Status();
}

void FileSchedule::addWorks(uint32_t role) {
  std::vector<StageWork> &works = schedule.roles[role];
  for (const Cell &cell : rows[role]) {
    auto add = [&](Work work) {
      works.push_back({work, cell.stage, cell.microBatch});
    };
    if (cell.kind == 'F')
      add(Work::Forward);
    if (cell.kind == 'B' || cell.kind == 'I')
      add(Work::Backward);
    const bool isWhole =
        cell.kind == 'B' && split.count({cell.stage, cell.microBatch}) == 0;
    if (cell.kind == 'W' || (schedule.splitsWeights && isWhole))
      add(Work::Weights);
  }
}

Status FileSchedule::checkComplete() const {
  const char *names[] = {"forward", "backward", "weights' gradients"};
  const size_t stages = schedule.roleOfStage.size();
  std::vector<uint32_t> done(3 * stages);
  for (const std::vector<StageWork> &works : schedule.roles)
    for (const StageWork &work : works) {
      uint32_t &next = done[3 * work.stage + size_t(work.work)];
      if (work.microBatch != next)
        return bad("stage ", work.stage, ": its ", names[size_t(work.work)],
                   " of micro-batch ", work.microBatch, " comes where that of ",
                   next, " is expected");
      ++next;
    }
  for (size_t i = 0; i < done.size(); ++i)
    if (done[i] != schedule.microBatches &&
        (i % 3 != size_t(Work::Weights) || schedule.splitsWeights))
      return bad("stage ", i / 3, " has ", done[i], " ", names[i % 3], "s of ",
                 schedule.microBatches, " micro-batches");
  return Status();
}

} // namespace

Result<PipelineSchedule> parseSchedule(const std::string &text) {
  std::vector<std::vector<Cell>> rows;
  uint32_t number = 0;
  for (const std::string &line : ::zc::split(text, '\n')) {
    ++number;
    if (trim(line).empty())
      continue;
    Result<std::vector<Cell>> cells = parseLine(line);
    if (!cells.ok())
      return cells.status().withContext(strCat("line ", number));
    if (cells->empty())
      return bad("line ", number, ": the rank has no forward");
    rows.push_back(std::move(*cells));
  }
  if (rows.empty())
    return bad("expected a line of actions for each rank; found none");
  ZC_ASSIGN_OR_RETURN(PipelineSchedule schedule,
                      FileSchedule(std::move(rows)).run());
  // Whether the ranks come to an end by it.
  ZC_RETURN_IF_ERROR(
      simulateSchedule(schedule,
                       WorkCosts::equal(schedule.roleOfStage.size(), 1, 1, 1))
          .status());
  return schedule;
}

} // namespace zc
