//===- InspectOverview.cpp - what an artifact is of -----------------------===//
#include "compiler/Export/InspectOverview.h"
#include "compiler/Export/HtmlParts.h"
#include "compiler/Export/TrainedStates.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <set>

namespace zc {
namespace {

/// The dims of all ranks and micro-batches together, as data files have them.
template <typename Tensor>
plan::TensorType wholeType(const plan::Manifest &manifest,
                           const plan::Program &program, const Tensor &tensor) {
  plan::TensorType type = program.buffers(int(tensor.buffer())).type();
  for (int i = 0; i < tensor.whole_dims_size(); ++i)
    type.set_dims(i, tensor.whole_dims(i));
  if (tensor.batch_dim() >= 0 && manifest.batch() > 0)
    type.set_dims(tensor.batch_dim(), manifest.batch());
  return type;
}

std::string noteOf(const plan::Input &input) {
  std::string text = input.is_label() ? "the labels" : "";
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : ", ") + part;
  };
  if (input.has_range())
    add(strCat(input.range().min(), " to ", input.range().max() - 1));
  if (input.range().has_ignored())
    add(strCat(input.range().ignored(), " is ignored"));
  if (input.batch_dim() < 0)
    add("the same for all samples");
  return text;
}

bool knows(const std::vector<OverviewTensor> &tensors,
           const std::string &name) {
  return std::any_of(
      tensors.begin(), tensors.end(),
      [&](const OverviewTensor &tensor) { return tensor.name == name; });
}

void addTensors(const plan::Manifest &manifest, const plan::Program &program,
                Overview &overview) {
  for (const plan::Input &input : program.inputs())
    if (!input.is_sample_weight() && !knows(overview.inputs, input.name()))
      overview.inputs.push_back({input.name(),
                                 wholeType(manifest, program, input),
                                 input.is_label(), noteOf(input)});
  for (const plan::Output &output : program.outputs())
    if (output.kind() == plan::OUTPUT &&
        !knows(overview.outputs, output.name()))
      overview.outputs.push_back(
          {output.name(), wholeType(manifest, program, output), false, ""});
}

/// Trained tensors by name, with their numbers of elements; those that several
/// roles have are counted once.
std::map<std::string, uint64_t> listParameters(const plan::Manifest &manifest) {
  std::map<std::string, uint64_t> elements;
  auto add = [&](const std::string &name, plan::TensorType type,
                 const auto &whole) {
    if (!whole.empty())
      *type.mutable_dims() = whole;
    elements[name] = elementCount(type).ok() ? *elementCount(type) : 0;
  };
  const google::protobuf::RepeatedField<int64_t> none;
  for (const plan::Role &role : manifest.roles()) {
    const TrainedStates trained(role);
    for (const plan::State &state : role.states()) {
      if (!trained.contains(state))
        continue;
      if (state.members().empty())
        add(state.name(), state.type(), state.whole_dims());
      for (const plan::UnitMember &member : state.members())
        add(member.name(), member.type(), none);
    }
  }
  return elements;
}

/// Where the part of a name behind `begin` ends: at the next separator.
size_t endOfPart(const std::string &name, size_t begin) {
  return std::min(name.find_first_of("./", begin), name.size());
}

using Parameters = std::map<std::string, uint64_t>;

/// Sums by what the names begin with: their first part, or where all begin
/// alike, the first that differs.
std::vector<OverviewModule> groupByModule(const Parameters &parameters) {
  std::vector<OverviewModule> modules;
  for (size_t begin = 0;;) {
    modules.clear();
    bool mayGoOn = !parameters.empty();
    for (const auto &[name, elements] : parameters) {
      const size_t end = endOfPart(name, std::min(begin, name.size()));
      mayGoOn &= end < name.size();
      const std::string module =
          end < name.size() ? name.substr(0, end + 1) + "*" : name;
      if (modules.empty() || modules.back().name != module)
        modules.push_back({module, 0, 0});
      ++modules.back().tensors;
      modules.back().elements += elements;
    }
    if (modules.size() != 1 || !mayGoOn)
      return modules;
    begin = modules.front().name.size() - 1;
  }
}

} // namespace

Overview describeOverview(const plan::Manifest &manifest) {
  Overview overview;
  for (const plan::Role &role : manifest.roles())
    for (const plan::Program &program : role.programs())
      addTensors(manifest, program, overview);
  std::stable_partition(
      overview.inputs.begin(), overview.inputs.end(),
      [](const OverviewTensor &input) { return !input.isLabel; });
  for (const plan::Setting &setting : manifest.settings())
    if (setting.name().rfind("moe.", 0) != 0) // of a section of its own
      overview.options.emplace_back(setting.name(), setting.value());
  for (const plan::Setting &axis : manifest.mesh())
    overview.mesh.emplace_back(axis.name(), axis.value());
  overview.modules = groupByModule(listParameters(manifest));
  return overview;
}

// --- For people
// ----------------------------------------------------------------------

std::string withCommas(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

/// "dp=2, tp=2".
static std::string join(const NamedTexts &texts, const char *between) {
  std::string text;
  for (const auto &[name, value] : texts)
    text += (text.empty() ? "" : ", ") + name + between + value;
  return text;
}

static std::string printTensors(const char *title,
                                const std::vector<OverviewTensor> &tensors) {
  if (tensors.empty())
    return "";
  constexpr size_t kMost = 12;
  size_t width = 0;
  for (const OverviewTensor &tensor : tensors)
    width = std::max(width, tensor.name.size());
  std::string text = std::string(title) + "\n";
  for (size_t i = 0; i < std::min(tensors.size(), kMost); ++i) {
    const OverviewTensor &tensor = tensors[i];
    text += "  " + tensor.name +
            std::string(width - tensor.name.size() + 2, ' ') +
            printType(tensor.type) +
            (tensor.note.empty() ? "" : "; " + tensor.note) + "\n";
  }
  if (tensors.size() > kMost)
    text += strCat("  and ", tensors.size() - kMost, " more\n");
  return text;
}

static std::string countOf(const OverviewModule &module) {
  return strCat(withCommas(module.elements), " in ", module.tensors, " tensor",
                module.tensors == 1 ? "" : "s");
}

OverviewModule sumOf(const std::vector<OverviewModule> &modules) {
  OverviewModule sum = {"all", 0, 0};
  for (const OverviewModule &module : modules) {
    sum.tensors += module.tensors;
    sum.elements += module.elements;
  }
  return sum;
}

static std::string printModules(const std::vector<OverviewModule> &modules) {
  if (modules.empty())
    return "";
  constexpr size_t kMost = 16;
  size_t width = 0;
  for (const OverviewModule &module : modules)
    width = std::max(width, module.name.size());
  std::string text =
      "trained parameters by module, " + countOf(sumOf(modules)) + "\n";
  for (size_t i = 0; i < std::min(modules.size(), kMost); ++i)
    text += "  " + modules[i].name +
            std::string(width - modules[i].name.size() + 2, ' ') +
            countOf(modules[i]) + "\n";
  if (modules.size() > kMost)
    text += strCat("  and ", modules.size() - kMost, " more modules\n");
  return text;
}

std::string printOverview(const Overview &overview) {
  std::string text = printTensors("inputs", overview.inputs) +
                     printTensors("outputs", overview.outputs);
  if (!overview.mesh.empty())
    text += "mesh\n  " + join(overview.mesh, "=") + "\n";
  if (!overview.options.empty())
    text += "options\n  " + join(overview.options, " ") + "\n";
  return text + printModules(overview.modules);
}

// --- On a page
// -----------------------------------------------------------------------

static std::string tensorRows(const char *what,
                              const std::vector<OverviewTensor> &tensors) {
  std::string text;
  for (const OverviewTensor &tensor : tensors)
    text += std::string("<tr><td>") + what + "</td><td>" +
            html::escape(tensor.name) + "</td><td>" +
            html::escape(printType(tensor.type)) + "</td><td>" +
            html::escape(tensor.note) + "</td></tr>\n";
  return text;
}

std::string overviewAsHtml(const Overview &overview) {
  std::string text = "<h2>Inputs and outputs</h2>\n<table>" +
                     tensorRows("input", overview.inputs) +
                     tensorRows("output", overview.outputs) + "</table>\n";
  if (!overview.mesh.empty())
    text += "<h2>Mesh</h2>\n<p>" + html::escape(join(overview.mesh, "=")) +
            "</p>\n";
  if (!overview.options.empty())
    text += "<h2>Options</h2>\n<p>" +
            html::escape(join(overview.options, " ")) + "</p>\n";
  if (overview.modules.empty())
    return text;
  text += "<h2>Trained parameters</h2>\n<table><tr><th>module</th>"
          "<th>parameters</th><th>tensors</th></tr>\n";
  std::vector<OverviewModule> rows = overview.modules;
  rows.push_back(sumOf(rows));
  for (const OverviewModule &row : rows)
    text += "<tr><td>" + html::escape(row.name) + "</td><td class=\"n\">" +
            withCommas(row.elements) + "</td><td class=\"n\">" +
            std::to_string(row.tensors) + "</td></tr>\n";
  return text + "</table>\n";
}

} // namespace zc
