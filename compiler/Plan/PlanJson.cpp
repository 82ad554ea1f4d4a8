//===- PlanJson.cpp - a plan for programs ---------------------------------===//
#include "compiler/Plan/PlanReport.h"

#include <nlohmann/json.hpp>

namespace zc {

using Json = nlohmann::ordered_json;

static Json memoryAsJson(const MemoryReport &memory) {
  return {{"parameters", memory.classes[plan::PARAMETERS]},
          {"gradients", memory.classes[plan::GRADIENTS]},
          {"optimizer", memory.classes[plan::OPTIMIZER_STATE]},
          {"activations", memory.classes[plan::ACTIVATIONS]},
          {"communication", memory.classes[plan::COMMUNICATION]},
          {"workspace", memory.classes[plan::WORKSPACE]},
          {"peak", memory.peak},
          {"peak_program", memory.peakName},
          {"offloaded", memory.offloadedBytes}};
}

static Json hostAsJson(const HostMemory &host, const Cluster &cluster) {
  return {{"rank", host.rankBytes},
          {"node", host.nodeBytes},
          {"ranks_of_node", host.nodeRanks},
          {"node_has", cluster.hostMemoryBytes}};
}

static Json secondsAsJson(const std::map<std::string, double> &by) {
  Json json = Json::object();
  for (const auto &[name, seconds] : by)
    json[name] = seconds;
  return json;
}

static Json trafficAsJson(const PlanReport &report) {
  Json json = {{"sent_bytes", report.traffic.sentBytes},
               {"by_axis", Json::object()},
               {"by_level", Json::object()}};
  for (const auto &[axes, traffic] : report.traffic.byAxis)
    json["by_axis"][axes] = {{"count", traffic.count},
                             {"bytes", traffic.bytes}};
  for (const auto &[axes, ways] : report.ways)
    json["by_axis"][axes]["ways"] = ways;
  for (const PlannedLink &link : report.links)
    json["by_level"][link.level] = {{"bytes", link.bytes},
                                    {"busy", link.share}};
  return json;
}

static Json serversAsJson(const ServerPlan &plan) {
  const ServedTraining &training = plan.training;
  return {{"servers", training.servers},
          {"workers", training.workers},
          {"sync", training.isAsynchronous ? "asp" : "bsp"},
          {"step_s", plan.times.stepSeconds},
          {"updates_per_s", plan.times.updatesPerSecond},
          {"compute_s", training.computeSeconds},
          {"update_s", training.updateSeconds},
          {"parameter_bytes", training.parameterBytes},
          {"gradient_bytes", training.gradientBytes},
          {"staleness", plan.times.meanStaleness},
          {"most_staleness", plan.times.mostStaleness},
          {"server_bytes", plan.times.serverBytes},
          {"worker_bytes", plan.times.workerBytes}};
}

std::string planAsJson(const plan::Manifest &manifest, const Cluster &cluster,
                       const PlanReport &report, double tokens) {
  Json plan = {
      {"cluster", cluster.name},
      {"device", cluster.device.name},
      {"ranks", report.ranks},
      {"parameters", report.parameters},
      {"batch", manifest.batch()},
      {"micro_batches", std::max<int64_t>(1, manifest.accumulate())},
      {"step_s", report.stepSeconds},
      {"ideal_s", report.idealSeconds},
      {"samples_per_s", report.samplesPerSecond},
      {"tokens_per_s", report.tokensPerSecond},
      {"mfu", report.mfu},
      {"hfu", report.hfu},
      {"model_flops", report.modelFlops},
      {"executed_flops", report.executedFlops},
      {"bubble_of_total", report.bubbleOfTotal},
      {"bubble_of_ideal", report.bubbleOfIdeal},
      {"exposed_s", secondsAsJson(report.exposed)},
      {"compute_s", secondsAsJson(report.computed)},
      {"memory", memoryAsJson(report.roles[size_t(report.largestRole)].memory)},
      {"host_memory", hostAsJson(report.host, cluster)},
      {"fits", report.fits()},
      {"limits", findLimits(manifest, cluster, report)},
      {"traffic", trafficAsJson(report)}};
  plan["compile_options"] = report.missingOptions;
  if (tokens > 0 && report.tokensPerSecond > 0)
    plan["days"] = tokens / report.tokensPerSecond / 86400;
  if (report.servers)
    plan["servers"] = serversAsJson(*report.servers);
  for (const PlannedRole &role : report.roles)
    plan["roles"].push_back({{"ranks", role.ranks},
                             {"memory", memoryAsJson(role.memory)},
                             {"compute_s", role.times.compute},
                             {"called_s", role.times.called},
                             {"exposed_s", secondsAsJson(role.times.exposed)}});
  return Json{{"plan", plan}}.dump(2);
}

} // namespace zc
