//===- InspectJson.cpp - the report for programs --------------------------===//
#include "compiler/Export/InspectOverview.h"
#include "compiler/Export/InspectPictures.h"
#include "compiler/Export/InspectSections.h"
#include "compiler/Export/InspectSharing.h"
#include "compiler/Export/InspectUse.h"
#include "runtime/Plan/Types.h"

#include <nlohmann/json.hpp>

using nlohmann::ordered_json;

namespace zc {
namespace {

ordered_json classesToJson(const ClassBytes &classes) {
  return {{"parameters", classes[plan::PARAMETERS]},
          {"gradients", classes[plan::GRADIENTS]},
          {"optimizer", classes[plan::OPTIMIZER_STATE]},
          {"activations", classes[plan::ACTIVATIONS]},
          {"communication", classes[plan::COMMUNICATION]},
          {"workspace", classes[plan::WORKSPACE]}};
}

ordered_json memoryToJson(const MemoryReport &report) {
  ordered_json json = classesToJson(report.classes);
  json["peak"] = report.peak;
  json["at_peak"] = classesToJson(report.atPeak);
  json["at_peak"]["unused"] = report.unusedAtPeak;
  json["optimizer_bytes_per_parameter"] = report.optimizerBytesPerParameter;
  if (report.historyBytes > 0)
    json["fp8_histories"] = report.historyBytes;
  json["bytes_per_parameter"] = {
      {"parameters", report.perParameter(plan::PARAMETERS)},
      {"gradients", report.perParameter(plan::GRADIENTS)},
      {"optimizer", report.perParameter(plan::OPTIMIZER_STATE)}};
  json["model_states"] = report.modelStates();
  json["residual_states"] = report.peak - report.modelStates();
  json["fragmentation"] =
      report.peak > 0 ? double(report.unusedAtPeak) / double(report.peak) : 0;
  json["persistent"] = report.persistentBytes;
  json["offloaded"] = report.offloadedBytes;
  json["peak_program"] = report.peakName;
  json["programs"] = ordered_json::object();
  for (const ProgramMemory &memory : report.programs)
    json["programs"][memory.name] = {
        {"transient", memory.transientBytes},
        {"peak",
         report.persistentBytes + report.flightBytes + memory.transientBytes},
        {"live", memory.liveBytes},
        {"live_at", memory.liveAt},
        {"live_at_label", memory.liveAtLabel}};
  if (report.flightBytes > 0)
    json["flight"] = report.flightBytes;
  return json;
}

/// Adds the bytes that a role copies, and how long its activations live.
void addUse(const plan::Manifest &manifest, int role, ordered_json &json) {
  const CopyTraffic copies = measureCopies(manifest, role);
  json["copied"] = {{"away", copies.away}, {"back", copies.back}};
  for (const plan::Program &program : manifest.roles(role).programs()) {
    const SharingReport sharing = measureSharing(program);
    json["programs"][program.name()]["unshared"] = {
        {"apart", sharing.apart}, {"in_place", sharing.inPlace}};
    const Lifetimes found = measureLifetimes(program);
    if (found.longest > 0)
      json["programs"][program.name()]["lifetimes"] = {
          {"bytes_by_tenth", found.bytesByTenth},
          {"count_by_tenth", found.countByTenth},
          {"longest",
           {{"instructions", found.longest},
            {"from", found.longestFrom},
            {"to", found.longestTo}}}};
  }
}

ordered_json memoryToJson(const plan::Manifest &manifest, int role) {
  ordered_json json = memoryToJson(measureMemory(manifest, role));
  addUse(manifest, role, json);
  return json;
}

/// Where there are several roles, that of the largest, then of each.
ordered_json memoryToJson(const plan::Manifest &manifest) {
  const int largest = measureMemory(manifest).role;
  ordered_json json = memoryToJson(manifest, largest);
  if (manifest.roles_size() < 2)
    return json;
  json["role"] = largest;
  for (int role = 0; role < manifest.roles_size(); ++role)
    json["roles"].push_back(memoryToJson(manifest, role));
  return json;
}

/// Adds the traffic by several keys.
void addTraffic(const CommReport &report, ordered_json &json) {
  auto set = [&](const char *by, const auto &traffics) {
    json[by] = ordered_json::object();
    for (const auto &[key, traffic] : traffics)
      json[by][key] = {{"count", traffic.count},
                       {"bytes", traffic.bytes},
                       {"steps", traffic.steps}};
  };
  set("by_kind", report.byKind);
  set("by_axis", report.byAxis);
  set("by_algorithm", report.byAlgorithm);
  set("by_operation", report.byOperation);
  if (report.dataParallel.sentByOne > 0)
    json["data_parallel"] = {
        {"bytes", report.dataParallel.sent},
        {"zero1_bytes", report.dataParallel.sentByOne},
        {"factor", report.dataParallel.factor()},
        {"reshard_every", report.dataParallel.reshardEvery}};
}

void addRoles(const CommReport &report, ordered_json &json) {
  json["role"] = report.role;
  json["messages"] = ordered_json::array();
  for (const MessageTraffic &message : report.messages)
    json["messages"].push_back(
        {{"from", message.from},
         {"to", message.to},
         {"name", message.name},
         {"kind", message.isGradient ? "gradient" : "activation"},
         {"bytes", message.bytes},
         {"count", message.count}});
  for (const CommReport &role : report.roles) {
    ordered_json &each = json["roles"].emplace_back();
    each["sent_bytes"] = role.sentBytes;
    addTraffic(role, each);
  }
}

ordered_json commToJson(const CommReport &report) {
  ordered_json json = {{"sent_bytes", report.sentBytes},
                       {"per_rank", report.perRank}};
  addTraffic(report, json);
  if (!report.roles.empty())
    addRoles(report, json);
  json["parameter_bytes"] = report.parameterBytes;
  if (report.parameterBytes > 0)
    json["parameter_ratio"] =
        double(report.sentBytes) / double(report.parameterBytes);
  return json;
}

ordered_json commToJson(const plan::Manifest &manifest) {
  ordered_json json = commToJson(measureComm(manifest));
  if (std::optional<CommReport> later = measureCompressedComm(manifest)) {
    json["compressed"] = commToJson(*later);
    json["compressed"]["after_step"] = manifest.freeze_step();
  }
  return json;
}

ordered_json expertsToJson(const ExpertReport &report,
                           const OwnershipReport &ownership) {
  ordered_json json = {{"parameters", report.parameters},
                       {"active_parameters", report.active},
                       {"ranks", report.ranks},
                       {"ownership",
                        {{"ranks", ownership.ranks},
                         {"expert_parts", ownership.experts},
                         {"weight_parts", ownership.weights},
                         {"token_parts", ownership.tokens}}},
                       {"layers", ordered_json::array()}};
  for (const ExpertLayerReport &layer : report.layers)
    json["layers"].push_back(
        {{"experts", layer.experts},
         {"experts_per_rank", layer.experts / report.ranks},
         {"chosen", layer.chosen},
         {"rows", layer.rows},
         {"parameters", layer.parameters},
         {"active_parameters", double(layer.parameters) * layer.share()},
         {"flops_active", layer.flops},
         {"flops_total", double(layer.flops) / layer.share()},
         {"rows_per_expert", layer.rowsPerExpert()},
         {"room_over_rows", layer.room},
         {"multiplied_over_rows", layer.multiplied}});
  return json;
}

ordered_json opsToJson(const plan::Manifest &manifest) {
  OpsReport report = countOps(manifest);
  ordered_json json = {{"by_kind", ordered_json::object()},
                       {"kernels", report.kernels},
                       {"ptx_entries", report.ptxEntries},
                       {"programs", ordered_json::object()}};
  for (const auto &[kind, count] : report.byKind)
    json["by_kind"][kind] = count;
  if (const ProductReport products = measureProducts(manifest);
      products.count > 0)
    json["products"] = {{"count", products.count},
                        {"multiples_of_16", products.inTiles},
                        {"smallest", products.smallest},
                        {"smallest_label", products.label}};
  for (const auto &[program, kinds] : report.byProgram) {
    json["programs"][program] = ordered_json::object();
    for (const auto &[kind, count] : kinds)
      json["programs"][program][kind] = count;
    json["flops"][program] = ordered_json::object();
    for (const auto &[kind, flops] : report.flops[program])
      json["flops"][program][kind] = flops;
  }
  return json;
}

ordered_json instructionsToJson(const plan::Program &program) {
  ordered_json list = ordered_json::array();
  for (const plan::Instruction &instruction : program.instructions())
    list.push_back({{"kind", getKind(instruction)},
                    {"label", instruction.label()},
                    {"stream", instruction.stream()},
                    {"flops", instruction.flops()},
                    {"bytes", instruction.bytes()}});
  return list;
}

ordered_json pipelineToJson(const PipelineReport &report) {
  ordered_json json = {{"order", report.order},
                       {"bubble_of_total", report.bubbleOfTotal},
                       {"bubble_of_ideal", report.bubbleOfIdeal},
                       {"in_flight", report.inFlight},
                       {"versions", report.versions},
                       {"stages", ordered_json::array()},
                       {"imbalance", report.imbalance}};
  for (const StageCost &stage : report.stages)
    json["stages"].push_back({{"role", stage.role},
                              {"replicas", stage.replicas},
                              {"flops", stage.flops},
                              {"bytes", stage.bytes},
                              {"forward", stage.forward},
                              {"backward", stage.backward},
                              {"weights", stage.weights}});
  json["of_equal_stages"] = {{"bubble_of_total", report.equalBubbleOfTotal},
                             {"bubble_of_ideal", report.equalBubbleOfIdeal}};
  return json;
}

ordered_json copiesToJson(const ResidentCopies &copies) {
  return {{"parameters", copies.parameters},
          {"gradients", copies.gradients},
          {"optimizer", copies.optimizer}};
}

ordered_json scheduleToJson(const plan::Manifest &manifest) {
  ordered_json json = ordered_json::object();
  if (std::optional<PipelineReport> report = measurePipeline(manifest))
    json = pipelineToJson(*report);
  for (int role = 0; role < manifest.roles_size(); ++role)
    for (const plan::Program &program : manifest.roles(role).programs())
      json[nameProgram(manifest, role, program)] = instructionsToJson(program);
  return json;
}

ordered_json divisionToJson(const plan::TensorDivision &division) {
  ordered_json dims = ordered_json::array();
  for (const plan::DimSharding &dim : division.sharding().dims())
    dims.push_back(
        std::vector<std::string>(dim.axes().begin(), dim.axes().end()));
  return {{"name", division.name()},
          {"kind", division.kind()},
          {"shape", std::vector<int64_t>(division.type().dims().begin(),
                                         division.type().dims().end())},
          {"sharding", dims},
          {"unreduced", std::vector<std::string>(division.unreduced().begin(),
                                                 division.unreduced().end())},
          {"why", division.why()}};
}

ordered_json shardingToJson(const plan::Manifest &manifest) {
  ordered_json json = ordered_json::array();
  for (int role = 0; role < manifest.roles_size(); ++role)
    for (const plan::TensorDivision &division :
         manifest.roles(role).divisions()) {
      json.push_back(divisionToJson(division));
      if (manifest.roles_size() > 1)
        json.back()["role"] = role;
    }
  return json;
}

} // namespace

/// Inputs or outputs.
static ordered_json tensorsToJson(const std::vector<OverviewTensor> &tensors) {
  ordered_json json = ordered_json::array();
  for (const OverviewTensor &tensor : tensors)
    json.push_back({{"name", tensor.name},
                    {"dtype", typeName(tensor.type.dtype())},
                    {"dims", std::vector<int64_t>(tensor.type.dims().begin(),
                                                  tensor.type.dims().end())},
                    {"labels", tensor.isLabel}});
  return json;
}

static void addOverview(const Overview &overview, ordered_json &json) {
  json["inputs"] = tensorsToJson(overview.inputs);
  json["outputs"] = tensorsToJson(overview.outputs);
  json["options"] = ordered_json::object();
  for (const auto &[name, value] : overview.options)
    json["options"][name] = value;
  json["modules"] = ordered_json::array();
  for (const OverviewModule &module : overview.modules)
    json["modules"].push_back({{"name", module.name},
                               {"tensors", module.tensors},
                               {"elements", module.elements}});
}

std::string inspectAsJson(const plan::Manifest &manifest,
                          const InspectOptions &options) {
  ordered_json json = {{"mode", manifest.mode()},
                       {"model", manifest.model_name()},
                       {"zc_version", manifest.zc_version()},
                       {"threads", manifest.target().threads()}};
  addOverview(describeOverview(manifest), json);
  if (options.memory) {
    json["memory"] = memoryToJson(manifest);
    json["memory"]["copies"] = copiesToJson(countCopies(manifest));
  }
  if (options.comm)
    json["comm"] = commToJson(manifest);
  if (options.ops)
    json["ops"] = opsToJson(manifest);
  if (std::optional<ExpertReport> experts = describeExperts(manifest);
      experts && options.ops)
    json["experts"] = expertsToJson(*experts, describeOwnership(manifest));
  if (options.sharding)
    json["sharding"] = shardingToJson(manifest);
  if (options.schedule)
    json["schedule"] = scheduleToJson(manifest);
  // Labels hold what the author of the model wrote, in whatever encoding.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

} // namespace zc
